/** All small agents: each reaches other corners of the core within few actions. */
import { agentsInOne, failingAgents } from './failures';
import type { SmallAgents } from './parts';
import { agentsWithPeople } from './people';
import { stuckAgents } from './recovery';
import { spendingAgents } from './spending';

/** All small agents, by name. */
export const smallAgents: SmallAgents = {
  ...agentsWithPeople,
  ...failingAgents,
  ...spendingAgents,
  ...stuckAgents,
  ...agentsInOne,
};
