/** Agents with budgets and subagents. */
import type { SmallAgents } from './parts';
import { delegate, first, recovery, snapshot, tool } from './parts';

/** Replies in which nothing runs, three times: the run is stuck. */
export const badReplies = { calls: [{ name: 'a', isBad: true }] } as const;
export const stuck = ['prepare=ok', 'm1=calls', 'm2=calls', 'm3=calls'];
export const spendingAgents: SmallAgents = {
  budget: {
    about: 'a budget for two calls and a half; every call that spends',
    depth: 7,
    people: ['say', 'escalate', 'answer', 'approve', 'stop', 'cancel'],
    snapshot: snapshot({ budget: { nanoUsd: 2_500 }, recovery: recovery() }),
    replies: badReplies,
    model: () => ['calls', 'answer', 'x:rate_limit', 'x:network?', 'held'],
    compactions: ['ok', 'unmade', 'x:worker_lost?'],
    plans: ['advise', 'act', 'escalate', 'ask', 'x:timeout?'],
  },
  tokens: {
    about: 'a budget of tokens',
    depth: 7,
    people: ['say', 'stop'],
    snapshot: snapshot({ budget: { tokens: 40 } }),
    replies: { calls: [{ name: 'a' }] },
    model: () => ['calls', 'answer', 'x:rate_limit', 'x:network?'],
  },
  broke: {
    about: 'nothing is left of the budget when the run is stuck',
    depth: 8,
    people: ['answer', 'approve', 'reject', 'stop'],
    snapshot: snapshot({ budget: { nanoUsd: 3_500 }, recovery: recovery() }),
    replies: badReplies,
    opening: stuck,
    model: () => ['calls'],
    plans: ['act', 'escalate', 'ask', 'x:budget_exhausted'],
  },
  subagents: {
    about: 'a subagent beside a tool, and one behind an approval',
    depth: 8,
    people: ['approve', 'reject', 'stop', 'cancel', 'say'],
    snapshot: snapshot(
      { budget: { nanoUsd: 100_000 }, tools: [tool('a'), delegate] },
      { maxToolCalls: 6 },
    ),
    replies: {
      calls: [
        { name: 'd', input: { task: 't' } },
        { name: 'a' },
        { name: 'd', input: { task: 'u' }, approval: true },
      ],
    },
    model: first(['calls'], ['answer', 'calls']),
    tools: {
      a: ['ok', 'x:tool_infrastructure', 'x:store_unavailable'],
      d: ['ok', 'x:store_unavailable'],
    },
  },
  'tight-subagents': {
    about: 'three subagents share a small budget',
    depth: 8,
    people: ['approve', 'reject', 'stop', 'say'],
    price: 700,
    snapshot: snapshot(
      { budget: { nanoUsd: 5_000 }, tools: [tool('a'), delegate] },
      { maxToolCalls: 4 },
    ),
    replies: {
      calls: [
        { name: 'd', input: { task: 't' } },
        { name: 'd', input: { task: 'v' } },
        { name: 'd', input: { task: 'u' }, approval: true },
      ],
    },
    model: () => ['answer', 'calls', 'x:network?'],
    tools: { d: ['ok', 'x:store_unavailable'] },
  },
  tree: {
    about: 'caps that hold for a tree of runs',
    depth: 8,
    people: ['stop', 'cancel'],
    snapshot: snapshot(
      { tools: [tool('a', { maxCalls: 3, editsFile: 'f' }), delegate] },
      { maxToolCalls: 5, maxEditsPerFile: 2 },
    ),
    replies: {
      calls: [
        { name: 'd', input: { task: 't' } },
        { name: 'a', file: 'f1' },
      ],
      more: [{ name: 'a', input: { arg: 2 }, file: 'f1' }],
    },
    model: () => ['calls', 'more', 'answer'],
    subagents: ['ok', 'failed'],
    tools: { a: ['ok', 'err'] },
  },
};
