/** Agents whose calls wait for people. */
import type { SmallAgents } from './parts';
import { everyone, first, irreversible, notifiers, snapshot, tool } from './parts';

export const agentsWithPeople: SmallAgents = {
  par: {
    about: 'two parallel calls, one with an approval',
    depth: 9,
    people: everyone,
    messages: 2,
    snapshot: snapshot(),
    replies: {
      calls: [{ name: 'a' }, { name: 'b', approval: true }],
      more: [{ name: 'a', input: { arg: 2 } }],
    },
    model: first(['calls'], ['answer', 'more', 'calls', 'x:rate_limit']),
    tools: {
      a: ['ok', 'err', 'x:store_unavailable', 'x:tool_infrastructure'],
      b: ['ok', 'x:tool_infrastructure'],
    },
  },
  signed: {
    about: 'decisions need a signature, which an activity checks',
    depth: 9,
    people: ['approve', 'reject', 'edit', 'stop', 'cancel', 'say'],
    snapshot: snapshot({ approvers: ['ed25519:x'] }),
    replies: { calls: [{ name: 'b', approval: true }, { name: 'a' }] },
    model: first(['calls'], ['answer', 'calls']),
    tools: { b: ['ok', 'x:store_unavailable'], a: ['ok', 'x:tool_infrastructure'] },
  },
  unknown: {
    about: 'questions, and calls of unknown outcome that a person is asked about',
    depth: 8,
    people: everyone.filter((act) => act !== 'edit'),
    snapshot: snapshot({
      completion: 'tool',
      tools: [tool('a'), { ...irreversible, onUnknown: 'ask-person' }],
    }),
    replies: {
      calls: [{ name: 'b' }, { name: 'a' }],
      both: [
        { name: 'ask_user', input: { question: 'q?' } },
        { name: 'b', input: { arg: 2 } },
      ],
    },
    model: first(['calls', 'both'], ['complete', 'ask', 'answer']),
    tools: {
      a: ['ok', 'x:tool_infrastructure', 'x:store_unavailable'],
      b: ['ok', 'unknown', 'x:store_unavailable'],
    },
  },
  rejecting: {
    about: 'decisions expire and are rejected; people are notified, or cannot be',
    depth: 8,
    people: everyone,
    notifications: ['ok', 'fail'],
    snapshot: snapshot({
      approvals: { expiresAfterMs: 2_000, onExpiry: 'reject' },
      questions: { expiresAfterMs: 3_000, onExpiry: 'reject' },
      notifiers,
    }),
    replies: {
      calls: [
        { name: 'b', approval: true },
        { name: 'ask_user', input: { question: 'q?' } },
      ],
    },
    model: first(['calls'], ['answer']),
    tools: { b: ['ok', 'x:store_unavailable'] },
  },
  escalating: {
    about: 'decisions expire and are escalated, or wait on',
    depth: 8,
    people: everyone,
    snapshot: snapshot({
      approvals: { expiresAfterMs: 2_000, onExpiry: 'escalate' },
      questions: { expiresAfterMs: 3_000, onExpiry: 'wait' },
      notifiers,
    }),
    replies: {
      calls: [
        { name: 'b', approval: true },
        { name: 'ask_user', input: { question: 'q?' } },
      ],
    },
    model: first(['calls'], ['answer']),
  },
  privileges: {
    about: 'privileged parameters after an error',
    depth: 9,
    people: ['approve', 'reject', 'edit', 'stop', 'say'],
    snapshot: snapshot(),
    replies: {
      calls: [{ name: 'a' }, { name: 'b', privileged: 'force' }],
      more: [
        { name: 'b', input: { arg: 2 }, privileged: 'force' },
        { name: 'b', input: { arg: 3 }, privileged: 'root', approval: true },
      ],
    },
    model: first(['calls'], ['more', 'answer']),
    tools: { a: ['ok', 'err', 'says-failed'], b: ['ok', 'err'] },
  },
};
