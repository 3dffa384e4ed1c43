/** An approval holds for a tool as it was: what runs, what does not, and what a started call is told. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { actionDigest } from '../../../activities/identity/call-identity';
import { defineTool } from '../../../activities/tools/define-tool';
import type { Tool } from '../../../activities/tools/tool';
import type { RunToolResult } from '../../../workflows/core/tools/ports';
import type { TemporaryStore } from '../../support/temporary-store';
import { temporaryStore } from '../../support/temporary-store';
import { workerActivities } from '../../support/worker-activities';

let stored: TemporaryStore;
let [definition, ran] = ['first', 0];
beforeEach(async () => {
  stored = await temporaryStore();
  [definition, ran] = ['first', 0];
});
afterEach(() => stored.dispose());

const fixed = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({}),
  execute: () => {
    ran += 1;
    return 'paid';
  },
});
/** Its definition becomes another one when it is read again. */
const changing = (next: string): Tool => ({
  ...fixed,
  definitionDigest: () => definition,
  readDefinition: () => {
    definition = next;
    return Promise.resolve();
  },
});
const call = { toolCallId: 'call', name: 'pay', input: {} };

async function run(tool: Tool, approvedDigest: string, isStarted = false): Promise<RunToolResult> {
  const { store } = stored;
  const activities = workerActivities(store, [tool]);
  const { snapshot } = await activities.prepareRun({ flags: [], agent: 'worker', goal: 'Pay.' });
  const idempotencyKey = 'run/call';
  if (isStarted) {
    const intent = { key: idempotencyKey, tool: 'pay', inputDigest: 'x', startedAtMs: 0 };
    const claim = await store.beginTool(intent);
    if ('owner' in claim) await store.moveTool(idempotencyKey, claim.owner, 'executing');
  }
  const info = { attempt: 1, currentAttemptScheduledTimestampMs: Date.now() };
  const input = { storeId: store.id, definition: snapshot.definition, ...call, idempotencyKey };
  return new MockActivityEnvironment(info).run((): Promise<RunToolResult> =>
    activities.runTool({ ...input, approvedDigest }),
  );
}

test('a call runs while the definition is the one that was approved', async () => {
  const { error } = await run(changing('first'), actionDigest(call, changing('first')));
  expect([error, ran]).toEqual([undefined, 1]);
});

test('a call does not run once its definition is another one', async () => {
  const approved = actionDigest(call, changing('second'));
  const { error } = await run(changing('second'), approved);
  expect(error).toMatchObject({ code: 'tool_denied' });
  expect(error?.hint).toContain('a person is asked again');
  expect(ran).toBe(0);
});

test('a call that an earlier attempt started is not told as one that did not run', async () => {
  const approved = actionDigest(call, changing('second'));
  const { error } = await run(changing('second'), approved, true);
  expect(error).toMatchObject({ code: 'outcome_unknown' });
  expect(ran).toBe(0);
});

test('a tool of the author has no such definition: its approval is as it was', async () => {
  const { error } = await run(fixed, 'any');
  expect([error, ran]).toEqual([undefined, 1]);
});

test.each([
  ['first', 'accepted'],
  ['second', 'refused'],
])('changed arguments, where the definition is then the %s one, are %s', async (next, type) => {
  const tool = changing(next);
  const shownDigest = actionDigest(call, tool);
  const { store } = stored;
  const activities = workerActivities(store, [tool]);
  const { snapshot } = await activities.prepareRun({ flags: [], agent: 'worker', goal: 'Pay.' });
  const at = { storeId: store.id, definition: snapshot.definition };
  const edit = { ...at, ...call, input: {}, original: {}, shownDigest };
  expect(await activities.checkEdit(edit)).toMatchObject({ type });
});
