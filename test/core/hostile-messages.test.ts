/** Whatever people's programs send, at any time: it is refused in words or dropped, and the state stays small. */
import { isDeepStrictEqual } from 'node:util';
import { pendingItems } from '../../workflows/core/view/pending';
import { statusView } from '../../workflows/core/view/status';
import { transition } from '../../workflows/core/run/transition';
import { eventOfSignal, eventOfUpdate } from '../../workflows/people-events';
import { problemOfAnswer, problemOfDecision } from '../../workflows/update-problems';
import type { RunState } from '../../workflows/core/run/state';
import { updateNames } from '../../workflows/contract';
import { aCall, aNewRun, aPreparedRun, aRunWithCalls, takeAll } from '../support/builders';
import type { HostileMessage } from '../support/hostile-messages';
import { hostileMessage } from '../support/hostile-messages';
import { cases, fc } from '../support/properties';

const ask = aCall('q', { name: 'ask_user', input: { question: 'which?' } });
const [waiting] = aRunWithCalls([aCall('a', { approvalDigest: 'digest-a' }), ask]);
const states: readonly [string, RunState][] = [
  ['before it is prepared', aNewRun()[0]],
  ['while the model answers', aPreparedRun()],
  ['while it waits for people', waiting],
  ['after its end', takeAll(waiting, { type: 'stop-requested', reason: 'enough' })[0]],
];

/** What the workflow's handlers make of a message; the refusal, where there is one. */
function deliver(state: RunState, { kind, name, argument }: HostileMessage): RunState | string {
  if (kind === 'query') {
    JSON.stringify([statusView(state), pendingItems(state)]);
    return state;
  }
  if (kind === 'update') {
    const check = name === updateNames.answer ? problemOfAnswer : problemOfDecision;
    const problem = check(state, argument);
    if (problem !== undefined) return problem;
  }
  const event = kind === 'signal' ? eventOfSignal(name, argument) : eventOfUpdate(name, argument);
  return event === undefined
    ? state
    : transition(state, { ...event, atMs: (state.activeSinceMs ?? state.startedAtMs) + 1 })[0];
}

test.each(states)('a run %s takes thousands of hostile messages', (_when, initial) => {
  let state = initial;
  let refusals = 0;
  const many = cases(1_500);
  const known = ['a', 'digest-a', 'q', 'approve', 'reject'];
  fc.assert(
    fc.property(hostileMessage(known), (message) => {
      const after = deliver(state, JSON.parse(JSON.stringify(message)) as HostileMessage);
      if (typeof after === 'string') {
        refusals += 1;
        expect(after.length).toBeLessThan(500);
        return;
      }
      state = after;
      expect(isDeepStrictEqual(JSON.parse(JSON.stringify(state)), state)).toBe(true);
      expect(JSON.stringify(state).length).toBeLessThan(400_000);
      // What people decided is done; the next message meets the run as it was.
      if (state.phase.type !== initial.phase.type) state = initial;
    }),
    many,
  );
  expect(refusals).toBeGreaterThan(many.numRuns / 15);
});
