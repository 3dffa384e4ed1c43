/** The demo's agent: it repairs a project whose tests fail. */
import { z } from 'zod';
import type { AgentDefinition, RouteDefinition, Tool } from '../../activities/index';
import { workspaceTools } from '../../activities/tools/workspace/workspace-tools';

/** Name under which runs of the demo start this agent. */
export const demoAgentName = 'repairer';

/** What the person asks for. */
export const demoGoal =
  'A test of this project fails. Find the fault in src and repair it there; leave the tests as they are. Then run the tests again.';

const instructions = `You repair a small JavaScript project.
Run its tests with "npm test", find the cause of what fails, change as little as possible in src, never touch test, and
run the tests again. Complete the task only when all tests pass, or when you are sure that you cannot repair it.`;

/** Called when a tool begins. */
export type ToolWatcher = (toolName: string) => void;

function watched(tool: Tool, onStart: ToolWatcher): Tool {
  return {
    ...tool,
    execute: (input, context) => {
      onStart(tool.name);
      return tool.execute(input, context);
    },
  };
}

/** Makes the agent. The short time limits are for the demo's spectators: the defaults fit work that nobody watches. */
export function demoAgent(
  chain: readonly [RouteDefinition, ...RouteDefinition[]],
  onToolStart: ToolWatcher,
): AgentDefinition {
  return {
    name: demoAgentName,
    instructions,
    chain,
    // Nobody watches the demo's project, a copy: nothing asks, so there is nothing that a program could approve.
    tools: workspaceTools({ asksFirst: false }).map((tool) => watched(tool, onToolStart)),
    completion: 'tool',
    output: z.object({
      file: z.string().describe('The file that was repaired.'),
      cause: z.string().describe('What was wrong, in one sentence.'),
    }),
    limits: { heartbeatTimeoutMs: 3_000, streamRetryBaseMs: 400, maxProviderWaitMs: 90_000 },
  };
}
