/** Agents whose calls fail, do not fit, or reach a limit, and those that hand over or are checked. */
import type { SmallAgents } from './parts';
import { everyone, first, irreversible, route, snapshot, tool } from './parts';

export const failingAgents: SmallAgents = {
  chain: {
    about: 'everything that a model call may come to, on two routes',
    depth: 6,
    people: ['say', 'escalate', 'stop', 'cancel', 'answer'],
    prepare: ['ok', 'x:store_unavailable', 'x:agent_unknown'],
    snapshot: snapshot(),
    replies: { calls: [{ name: 'a' }] },
    model: () => [
      ...['calls', 'answer', 'empty', 'pause', 'cut', 'refuse', 'garbled'],
      ...['x:rate_limit', 'x:store_unavailable', 'x:auth', 'x:network?', 'x:worker_lost?'],
    ],
    tools: { a: ['ok', 'x:store_unavailable'] },
  },
  compaction: {
    about: 'requests that do not fit',
    depth: 8,
    people: ['say', 'escalate', 'answer', 'stop', 'cancel'],
    snapshot: snapshot({ chain: [route('p0'), route('p1', 400_000)] }),
    replies: { calls: [{ name: 'a' }] },
    model: () => ['calls', 'held', 'x:context_overflow', 'answer'],
    compactions: [
      ...['ok', 'small', 'unmade'],
      ...['x:overloaded', 'x:store_unavailable', 'x:worker_lost?'],
    ],
  },
  caps: {
    about: 'hard limits of calls, edits, iterations and time',
    depth: 8,
    people: everyone,
    snapshot: snapshot(
      { tools: [tool('a', { maxCalls: 2, editsFile: 'f' }), irreversible] },
      { maxIterations: 2, maxToolCalls: 3, maxEditsPerFile: 1, maxActiveMs: 5_000 },
    ),
    replies: {
      calls: [
        { name: 'a', file: 'f1' },
        { name: 'b', approval: true, file: 'f2' },
      ],
      more: [{ name: 'b', input: { arg: 3 }, file: 'f1' }],
    },
    model: first(['calls'], ['more', 'answer', 'calls']),
    checks: ['ok', 'ok-file'],
    tools: { a: ['ok', 'err'], b: ['ok', 'x:store_unavailable'] },
  },
  last: {
    about: 'the last iteration of a run that ends by a tool',
    depth: 8,
    people: ['say', 'escalate', 'answer', 'stop'],
    snapshot: snapshot({ completion: 'tool' }, { maxIterations: 1 }),
    model: () => ['complete', 'answer', 'ask'],
  },
  'last-text': {
    about: 'the last iteration of a run that ends by an answer',
    depth: 8,
    people: ['say', 'escalate', 'answer', 'stop'],
    snapshot: snapshot({}, { maxIterations: 1 }),
    model: () => ['answer'],
  },
  loop: {
    about: 'the same call with the same result, until the guard stops it',
    depth: 10,
    people: ['say', 'stop'],
    sameResults: true,
    snapshot: snapshot({ learns: true }, { maxSameCalls: 3 }),
    replies: { same: [{ name: 'a' }], other: [{ name: 'a', input: { arg: 2 } }] },
    model: () => ['same', 'other', 'answer'],
    tools: { a: ['ok', 'err'] },
  },
  learning: {
    about: 'errors that are healed and recorded, and the breaker',
    depth: 9,
    people: ['say', 'stop', 'cancel'],
    snapshot: snapshot({ learns: true }),
    replies: {
      calls: [{ name: 'a' }],
      bad: [{ name: 'a', isBad: true }],
      both: [{ name: 'a' }, { name: 'b' }],
    },
    model: () => ['calls', 'bad', 'both', 'answer', 'garbled'],
    tools: { a: ['ok', 'err'], b: ['ok', 'x:tool_infrastructure'] },
  },
};

/** Agents of which several act in one run, or that are checked. */
export const agentsInOne: SmallAgents = {
  handoff: {
    about: 'a handoff beside another call',
    depth: 8,
    people: ['say', 'escalate', 'answer', 'stop', 'cancel', 'approve', 'reject'],
    snapshot: snapshot({ tools: [tool('a'), tool('transfer', { handoff: 'other' })] }),
    replies: {
      calls: [{ name: 'a' }, { name: 'transfer', input: { reason: 'yours' } }],
      asks: [{ name: 'transfer', approval: true }],
    },
    model: () => ['calls', 'asks', 'answer'],
    tools: { a: ['ok', 'x:tool_infrastructure', 'x:store_unavailable'] },
    handovers: ['ok', 'x:store_unavailable', 'x:agent_unknown'],
  },
  guardrails: {
    about: 'checks before the first call and before the answer',
    depth: 9,
    people: ['say', 'escalate', 'answer', 'stop', 'cancel'],
    snapshot: snapshot({
      guardrails: {
        input: { names: ['guard'], timeoutMs: 1_000 },
        output: { names: ['guard'], timeoutMs: 1_000 },
      },
    }),
    replies: { calls: [{ name: 'a' }] },
    model: () => ['calls', 'answer'],
    guardrails: ['pass', 'correct', 'stop', 'x:store_unavailable', 'x:tool_infrastructure'],
  },
};
