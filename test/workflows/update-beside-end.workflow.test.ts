/** An update that lands in the same workflow task as the run's end: the run ends all the same, and the update says so. */
import type { WorkflowHandle } from '@temporalio/client';
import { isGrpcServiceError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import { createStage, until } from '../client/scripted-run';

let server: DevServer;
/** Status of gRPC for what the server does not know. */
const grpcNotFound = 5;
/** Id of the update, by which the server is asked for it. */
const updateId = 'late-answer';
beforeAll(async () => {
  server = await startDevServer();
});
afterAll(() => server.close());

/** Whether the server holds the update, which no worker has seen yet. */
async function isAdmitted(workflowId: string): Promise<boolean> {
  const answer = server.connection.workflowService.pollWorkflowExecutionUpdate({
    namespace: server.namespace,
    updateRef: { workflowExecution: { workflowId }, updateId },
  });
  return answer.then(
    () => true,
    (thrown: unknown) => {
      if (isGrpcServiceError(thrown) && (thrown.code as number) === grpcNotFound) return false;
      throw thrown;
    },
  );
}

test('an answer that comes behind a stop neither holds the run nor passes for accepted', async () => {
  const stage = createStage(server);
  const [decider, actor] = await Promise.all([
    stage.decide(),
    stage.act({ model: () => [{ name: 'ask_user', input: { question: 'which?' } }] }),
  ]);
  const { runId } = await stage.client.start({
    agent: 'scout',
    goal: 'find it',
    runId: uniqueName('run'),
  });
  const run = stage.client.run(runId);
  await until(async () => (await run.pending()).length > 0, 'a question');
  const [item] = await run.pending();
  await decider.stop();
  const handle: WorkflowHandle = stage.temporal.workflow.getHandle(runId);
  await handle.signal('stop', { reason: 'enough' });
  const questionId = item?.type === 'question' ? item.questionId : '';
  const refused = handle
    .executeUpdate('answer', { updateId, args: [{ questionId, answer: 'this' }] })
    .then(
      () => 'accepted',
      (thrown: unknown) =>
        thrown instanceof WorkflowUpdateFailedError ? String(thrown.cause?.message) : thrown,
    );
  await until(() => isAdmitted(runId), 'the answer at the server');
  const second = await stage.decide();
  expect(await handle.result()).toMatchObject({ status: 'stopped', reason: 'enough' });
  expect(await refused).toMatch(/ended/);
  await Promise.all([second.stop(), actor.stop()]);
});
