/** Every signal, update and query with wrong arguments, on a real server: refused in words or dropped, and no workflow task fails. */
import type { WorkflowHandle } from '@temporalio/client';
import { QueryNotRegisteredError, WorkflowUpdateFailedError } from '@temporalio/client';
import { createStage, until } from '../client/scripted-run';
import type { Stage } from '../client/scripted-run';
import type { HostileMessage } from '../support/hostile-messages';
import { hostileMessage } from '../support/hostile-messages';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import { fc } from '../support/properties';

/** Messages of each phase of the run. */
const messagesPerPhase = 30;
const parallel = 10;

let server: DevServer;
let stage: Stage;
beforeAll(async () => {
  server = await startDevServer();
  stage = createStage(server);
});
afterAll(() => server.close());

/** Sends it; what the server or the run said. */
async function send(handle: WorkflowHandle, message: HostileMessage): Promise<string> {
  const { kind, name, argument } = message;
  try {
    if (kind === 'signal') await handle.signal(name, argument);
    else if (kind === 'query') await handle.query(name, argument);
    else await handle.executeUpdate(name, { args: [argument] });
    return 'taken';
  } catch (thrown) {
    if (thrown instanceof WorkflowUpdateFailedError) return String(thrown.cause?.message);
    if (thrown instanceof QueryNotRegisteredError) return 'no such query';
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

async function sendAll(handle: WorkflowHandle, messages: readonly HostileMessage[]): Promise<void> {
  for (let next = 0; next < messages.length; next += parallel)
    await Promise.all(
      messages.slice(next, next + parallel).map((message) => send(handle, message)),
    );
}

/** A payload as no client of ours writes it. */
async function sendRaw(runId: string, encoding: string, data: string): Promise<void> {
  const payload = { metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) };
  await server.connection.workflowService.signalWorkflowExecution({
    namespace: server.namespace,
    workflowExecution: { workflowId: runId },
    signalName: 'addMessage',
    input: { payloads: [payload, payload] },
    requestId: uniqueName('request'),
  });
}

async function expectNoFailedTask(handle: WorkflowHandle): Promise<void> {
  const { events } = await handle.fetchHistory();
  const failures = (events ?? []).flatMap(
    (event) => event.workflowTaskFailedEventAttributes?.failure?.message ?? [],
  );
  expect(failures).toEqual([]);
}

test('no message, however wrong, breaks a run before, while or after it works', async () => {
  const sample = (known: readonly string[], seed: number): readonly HostileMessage[] =>
    fc.sample(hostileMessage(known), { numRuns: messagesPerPhase, seed });
  const decider = await stage.decide();
  const { runId } = await stage.client.start({ agent: 'a', goal: 'g', runId: uniqueName('run') });
  const run = stage.client.run(runId);
  const handle = stage.temporal.workflow.getHandle(runId);
  await sendAll(handle, sample(['escalation'], 1));

  const actor = await stage.act({ model: () => [{ name: 'deploy', needsApproval: true }] });
  await until(async () => {
    const [item] = await run.pending();
    if (item?.type === 'question') await run.answer(item.questionId, 'go on');
    return item?.type === 'approval';
  }, 'an approval');
  const [item] = await run.pending();
  const known = item?.type === 'approval' ? [item.approvalId, item.digest] : [];
  const [approvalId, digest] = known;
  // No edit with these, so that the same action goes on waiting.
  await sendAll(handle, sample([approvalId ?? ''], 2));
  for (const [encoding, data] of [
    ['binary/encrypted', 'unreadable'],
    ['json/plain', '{"text": '],
    ['', ''],
  ] as const)
    await sendRaw(runId, encoding, data);
  expect((await run.status()).lastError).toContain('signal dropped');

  const long = 'x'.repeat(5_000_000);
  const tooLong: readonly HostileMessage[] = [
    { kind: 'signal', name: 'addMessage', argument: { text: long } },
    { kind: 'update', name: 'answer', argument: { questionId: 'q', answer: long } },
  ];
  // The server takes no more than 4 MB; the client would repeat what it refuses for half a minute.
  const refused = await Promise.all(
    tooLong.map((message) =>
      stage.temporal.workflow.withDeadline(Date.now() + 2_000, () => send(handle, message)),
    ),
  );
  expect(refused).not.toContain('taken');
  const big = long.slice(0, 1_500_000);
  const decision = { approvalId, digest, decision: 'approve', input: { text: big } };
  const [answer] = await Promise.all([
    send(handle, { kind: 'update', name: 'resolveApproval', argument: decision }),
    send(handle, { kind: 'query', name: 'status', argument: big }),
    send(handle, { kind: 'signal', name: 'escalate', argument: big }),
  ]);
  expect(answer).toContain('at most 128000');
  expect(JSON.stringify([await run.status(), await run.pending()]).length).toBeLessThan(20_000);

  await run.stop('enough');
  expect(await run.result()).toMatchObject({ status: 'stopped' });
  const after = await Promise.all(
    sample(known, 3)
      .filter(({ kind }) => kind !== 'query')
      .map((message) => send(handle, message)),
  );
  expect(after).not.toContain('taken');
  await expectNoFailedTask(handle);
  await Promise.all([decider.stop(), actor.stop()]);
});
