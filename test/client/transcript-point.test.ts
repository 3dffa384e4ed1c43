/** Where a fork's transcript stands, and what of the first run is in it. */
import { Readable } from 'node:stream';
import { pointIn } from '../../client/history/transcript-point';
import type { HistoryFact } from '../../client/history/facts';
import type { RunState } from '../../workflows/core/run/state';
import type { Transition } from '../../workflows/core/run/transition';
import {
  aCall,
  aRequest,
  aRunWithCalls,
  aSnapshot,
  aToolResult,
  anInfraError,
  takeAll,
} from '../support/builders';

/** A run whose iteration 2 waits for a provider, with the result of iteration 1 unread, and rolls over in that wait. */
function rolledOverInAWait(): Transition {
  const [called] = aRunWithCalls([aCall('c1')]);
  const failed = (callId: string) =>
    ({ type: 'model-call-failed', callId, failure: anInfraError('rate_limit') }) as const;
  return takeAll(
    called,
    { type: 'tool-call-completed', toolCallId: 'c1', result: aToolResult() },
    failed('m2'),
    { ...failed('m2.1'), rollOverSuggested: true },
  );
}

function historyOf(state: RunState): AsyncIterable<readonly HistoryFact[]> {
  const { request } = state;
  const began = { type: 'segment-began', firstRunId: 'first', eventId: 1, atMs: 1 } as const;
  return Readable.from([[{ ...began, input: { request, state } }]]);
}

test('a roll-over in an iteration that waits for its model call does not put unread results in the transcript', async () => {
  const [state, commands] = rolledOverInAWait();
  expect(commands.at(-1)).toEqual({ type: 'roll-over' });
  expect(state.counters.iterations).toBe(2);
  expect(state.next.pendingResults).toHaveLength(1);
  const at = (iteration?: number) =>
    pointIn(historyOf(state), 'run', iteration, () => Promise.resolve(state.head));
  const origins = [{ runKey: 'run/first', iteration: 0 }];
  expect(await at(1)).toMatchObject({ head: state.head, origins });
  expect(await at()).toMatchObject({ head: state.head, origins });
  await expect(at(2)).rejects.toThrow(/it has come to iteration 1/);
});

test('a fork begins with the agent that acted after its iteration', async () => {
  const snapshot = (agent: string) => ({ ...aSnapshot({ agent }), hasContext: true as const });
  const completed = (activityId: string, result: object): HistoryFact => ({
    type: 'activity-completed',
    activityId,
    result,
    eventId: 1,
    atMs: 1,
  });
  const call = (iteration: number): HistoryFact =>
    completed(`m${iteration}`, { headBefore: `before-${iteration}`, head: `after-${iteration}` });
  const began = { type: 'segment-began', firstRunId: 'first', eventId: 1, atMs: 1 } as const;
  const facts = (): AsyncIterable<readonly HistoryFact[]> =>
    Readable.from([
      [
        { ...began, input: { request: aRequest() } },
        completed('prepare', { head: 'head-0', snapshot: snapshot('helper') }),
        call(1),
        completed('h1', { head: 'after-1', snapshot: snapshot('billing') }),
        call(2),
        completed('h2', { head: 'after-2', snapshot: snapshot('helper') }),
        call(3),
      ],
    ]);
  const agents = [0, 1, 2, undefined].map(async (iteration) => {
    const point = await pointIn(facts(), 'run', iteration, () => Promise.resolve('now'));
    return [point.head, point.actingAgent];
  });
  expect(await Promise.all(agents)).toEqual([
    ['before-1', undefined],
    ['before-2', 'billing'],
    ['before-3', undefined],
    ['now', undefined],
  ]);
});
