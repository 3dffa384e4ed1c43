/** A call of a tool that is Temporal code, in the activity: it prepares work, and later brings its end in; both may be repeated. */
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import type { ProbeAnswer, Tool } from '../../activities/tools/tool';
import { defineTool } from '../../activities/tools/define-tool';
import { defaultLimits } from '../../workflows/core/limits';
import type { RunToolInput, RunToolResult, WorkEnd } from '../../workflows/core/tools/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import { workerActivities } from '../support/worker-activities';

let stored: TemporaryStore;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

const base = { name: 'book', description: 'Books.', input: z.object({}) } as const;
const execute = { activity: 'bookRoom' } as const;
const irreversible = defineTool({ ...base, execute });

/** Calls of one tool in one run. */
interface Calls {
  readonly call: (more?: Partial<RunToolInput>, attempt?: number) => Promise<RunToolResult>;
}

async function callsOf(tool: Tool): Promise<Calls> {
  const { store } = stored;
  const activities = workerActivities(store, [tool]);
  const { snapshot } = await activities.prepareRun({ flags: [], agent: 'worker', goal: 'Work.' });
  const input: RunToolInput = {
    storeId: store.id,
    definition: snapshot.definition,
    toolCallId: 'call',
    name: tool.name,
    input: {},
    idempotencyKey: 'run/call',
  };
  return {
    call: (more = {}, attempt = 1) =>
      new MockActivityEnvironment({
        attempt,
        currentAttemptScheduledTimestampMs: Date.now() + attempt,
      }).run(() => activities.runTool({ ...input, ...more })),
  };
}

const failed = (reason: Extract<WorkEnd, { type: 'failed' }>['reason']): WorkEnd => ({
  type: 'failed',
  reason,
  message: 'why',
});

test('prepares the same work at each attempt, since none of them started anything', async () => {
  const { call } = await callsOf(irreversible);
  const first = await call();
  expect(first.work).toEqual({
    type: 'activity',
    name: 'bookRoom',
    args: [{}],
    timeoutMs: 60_000,
    queueTimeoutMs: 60_000,
    retry: { maximumAttempts: 1 },
  });
  expect(await stored.store.getTool('run/call')).toMatchObject({ type: 'executing' });
  expect((await call({}, 2)).work).toEqual(first.work);
});

test('is given up where preparing it cost too many workers', async () => {
  const { call } = await callsOf(irreversible);
  const { error } = await call({}, defaultLimits.maxLostWorkers + 1);
  expect(error?.message).toContain('workers were lost');
});

test('brings the end in once: what was recorded is the answer of every later attempt', async () => {
  const { call } = await callsOf(irreversible);
  await call();
  // Its first attempt was lost; this process still knows what the call prepared.
  const result = await call({ ended: { type: 'completed', output: { room: 7 } } }, 2);
  expect(result.preview).toBe('{"room":7}');
  expect(await call({ ended: failed('lost') }, 3)).toEqual(result);
  // Nor does it start again: the call is done.
  expect(await call()).toEqual(result);
});

test.each<[WorkEnd, Partial<RunToolResult>, RegExp]>([
  [failed('not-started'), {}, /activity "bookRoom" was not started: why/],
  [failed('lost'), { isOutcomeUnknown: true }, /midway; whether it took effect is not known/],
  [failed('cancelled'), { isOutcomeUnknown: true }, /not known/],
  [failed('timed-out'), { isOutcomeUnknown: true }, /within 60000 ms; whether it took effect/],
  [failed('error'), {}, /^why$/],
  [failed('unread'), {}, /is done and took effect, but why/],
])('tells %j of an irreversible tool', async (ended, result, words) => {
  const { call } = await callsOf(irreversible);
  await call();
  const { isOutcomeUnknown, error } = await call({ ended });
  expect({ isOutcomeUnknown }).toEqual({ isOutcomeUnknown: undefined, ...result });
  expect(error?.message).toMatch(words);
});

test.each(['lost', 'timed-out', 'cancelled'] as const)(
  'of a read tool, %s leaves nothing unknown',
  async (reason) => {
    const { call } = await callsOf(defineTool({ ...base, effect: 'read', execute }));
    await call();
    const result = await call({ ended: failed(reason) });
    expect(result.isOutcomeUnknown).toBeUndefined();
    expect(result.error?.message).not.toContain('took effect');
  },
);

test.each([
  ['irreversible', 'write failed: read ECONNRESET', true],
  ['irreversible', 'connect ECONNREFUSED 127.0.0.1:80', undefined],
  ['irreversible', 'the room is taken', undefined],
  ['read', 'write failed: read ECONNRESET', undefined],
] as const)(
  'of a tool that is %s, "%s" leaves the outcome unknown: %s',
  async (effect, why, is) => {
    const { call } = await callsOf(defineTool({ ...base, effect, execute }));
    await call();
    const result = await call({ ended: { type: 'failed', reason: 'error', message: why } });
    expect(result.isOutcomeUnknown).toBe(is);
    expect(result.error?.message).toContain(why);
  },
);

test('a result that ended more workers than a call may lose is not read again', async () => {
  const { call } = await callsOf(irreversible);
  await call();
  const ended: WorkEnd = { type: 'completed', output: { room: 7 } };
  const { error } = await call({ ended }, defaultLimits.maxLostWorkers + 2);
  expect(error?.message).toContain(`ended ${defaultLimits.maxLostWorkers + 1} workers that read`);
});

test('asks the probe of a reconcilable tool where the work was lost', async () => {
  const probe = (): Promise<ProbeAnswer> => Promise.resolve({ type: 'applied', output: 'room 7' });
  const { call } = await callsOf(defineTool({ ...base, effect: 'reconcilable', execute, probe }));
  await call();
  expect(await call({ ended: failed('lost') })).toMatchObject({ preview: 'room 7' });
});

test('a result that does not fit the schema of the tool is told without a word of it', async () => {
  const result = z.object({ room: z.number() });
  const { call } = await callsOf(defineTool({ ...base, execute: { ...execute, result } }));
  await call();
  const { error } = await call({ ended: { type: 'completed', output: { room: 'secret' } } });
  expect(error?.message).toContain('is done and took effect, but its result does not fit');
  expect(error?.message).toContain('result.room');
  expect(error?.message).not.toContain('secret');
});

test('arguments that history should not hold are refused before anything starts', async () => {
  const args = (): readonly unknown[] => ['x'.repeat(140_000)];
  const { call } = await callsOf(defineTool({ ...base, execute: { ...execute, args } }));
  expect((await call()).error).toMatchObject({ code: 'invalid_params' });
});

test('an end that cannot be stored is brought in again by Temporal, not started again by the run', async () => {
  const { call } = await callsOf(irreversible);
  await call();
  await stored.store.close();
  const ended: WorkEnd = { type: 'completed', output: 'room 7' };
  const thrown: unknown = await call({ ended }).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(ApplicationFailure);
  expect(thrown).toMatchObject({ type: 'store_unavailable', nonRetryable: false });
});
