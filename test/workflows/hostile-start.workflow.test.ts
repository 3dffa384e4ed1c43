/** Whoever starts the workflow without the client's checks gets a failed run, never one whose workflow task fails for ever. */
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { WorkflowFailedError } from '@temporalio/client';
import { agentRunWorkflow } from '../../workflows/contract';
import { createStage } from '../client/scripted-run';
import type { DevServer } from '../support/temporal';
import { startDevServer } from '../support/temporal';

let server: DevServer;
beforeAll(async () => {
  server = await startDevServer();
});
afterAll(() => server.close());

const start = (temporal: Client, taskQueue: string, args: unknown[]): Promise<unknown> =>
  temporal.workflow
    .execute(agentRunWorkflow, {
      taskQueue,
      workflowId: `run-${randomUUID()}`,
      args,
      workflowExecutionTimeout: '10 seconds',
    })
    .catch((thrown: unknown) => (thrown instanceof WorkflowFailedError ? thrown.cause : thrown));

test('input of a wrong shape fails the run with what is wrong', async () => {
  const stage = createStage(server);
  const [decider, actor] = await Promise.all([stage.decide(), stage.act({ model: () => 'done' })]);
  const wrong: unknown[][] = [
    [],
    [null],
    [{}],
    [{ request: 'x' }],
    [{ request: { agent: 'scout' } }],
    [{ request: { agent: 'scout', goal: 7 } }],
    [{ request: { agent: ['scout'], goal: 'x' } }],
  ];
  const ends = await Promise.all(wrong.map((args) => start(stage.temporal, stage.taskQueue, args)));
  for (const end of ends) expect(end).toMatchObject({ type: 'InvalidInput' });
  const long = { request: { agent: 'a'.repeat(200_000), goal: '\ud83d'.repeat(50_000) } };
  expect(await start(stage.temporal, stage.taskQueue, [long])).toMatchObject({
    status: 'completed',
  });
  await Promise.all([decider.stop(), actor.stop()]);
});
