/** Agents that are stuck. */
import type { SmallAgents } from './parts';
import { everyone, recovery, snapshot } from './parts';
import { badReplies, stuck } from './spending';

/** The same tool fails three times. */
const failing = [
  'prepare=ok',
  ...[1, 2, 3].flatMap((iteration) => [`m${iteration}=same`, `t${iteration}.0=err`]),
];

export const stuckAgents: SmallAgents = {
  plans: {
    about: 'every plan for a run that is stuck',
    depth: 7,
    people: everyone.filter((act) => act !== 'edit'),
    snapshot: snapshot({ recovery: recovery() }),
    replies: { ...badReplies, good: [{ name: 'a' }] },
    opening: stuck,
    model: (call) => (call <= 3 ? ['calls'] : ['answer', 'calls']),
    plans: [
      ...['act', 'retry', 'act-approved', 'ask', 'advise', 'escalate'],
      ...['give-up', 'ask-give-up', 'x:timeout'],
    ],
    tools: { a: ['ok', 'err', 'x:store_unavailable', 'x:tool_infrastructure'] },
  },
  'pending-results': {
    about: 'the runtime acts while results of the model wait',
    depth: 7,
    people: everyone,
    sameResults: true,
    snapshot: snapshot({ recovery: recovery({ onExpiry: 'continue' }) }),
    replies: { calls: [{ name: 'a' }, { name: 'b', approval: true }], same: [{ name: 'a' }] },
    opening: failing,
    model: (call) => (call <= 3 ? ['same'] : ['answer', 'calls']),
    plans: ['act', 'act-approved', 'ask', 'advise', 'escalate'],
    tools: { a: ['err', 'ok', 'x:store_unavailable', 'x:tool_infrastructure', 'unknown'] },
  },
  edited: {
    about: "the runtime's own call is edited in the iteration of an edited call",
    depth: 8,
    people: ['approve', 'edit', 'stop'],
    snapshot: snapshot({ recovery: recovery() }),
    replies: { calls: [{ name: 'b', approval: true }] },
    opening: [
      'prepare=ok',
      ...[1, 2, 3].flatMap((n) => [
        `m${n}=calls`,
        `edit PREFIX_${n}_0`,
        `e${n}.0=ok`,
        `t${n}.0=err`,
      ]),
    ],
    model: (call) => (call <= 3 ? ['calls'] : ['answer']),
    checks: ['ok'],
    plans: ['act-approved', 'ask-approved'],
    tools: { a: ['ok'], b: ['err'] },
  },
};
