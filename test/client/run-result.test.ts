/** A wait with a limit, on a client whose answers take their time. */
import type { WorkflowClient } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { awaitOutcome } from '../../client/run-result';
import { refusal } from './scripted-run';

const { WorkflowExecutionInfo } = temporal.api.workflow.v1;
const { WorkflowExecutionStatus } = temporal.api.enums.v1;

const outcome = { status: 'completed', answer: 'done', report: {} };

/** Each answer takes 30 ms, longer than the limits here. */
function slowClient(status: 'RUNNING' | 'COMPLETED'): WorkflowClient {
  const aborted = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(new Error('aborted'));
      });
    });
  const info = WorkflowExecutionInfo.create({
    execution: { workflowId: 'run' },
    type: { name: 'agentRun' },
    status: WorkflowExecutionStatus[`WORKFLOW_EXECUTION_STATUS_${status}`],
    startTime: {},
  });
  const client = {
    withAbortSignal: (signal: AbortSignal, work: () => Promise<unknown>) =>
      Promise.race([work(), aborted(signal)]),
    withDeadline: (_deadline: number, work: () => Promise<unknown>) => work(),
    getHandle: () => ({
      result: () => sleep(status === 'RUNNING' ? 10_000 : 30, outcome, { ref: false }),
    }),
    options: {},
    workflowService: {
      describeWorkflowExecution: () => sleep(30, { workflowExecutionInfo: info }),
    },
  };
  // Only what a wait uses of the client.
  return client as unknown as WorkflowClient;
}

test.each([0, 5])('of %i ms gives the outcome of a run that has ended', async (timeoutMs) => {
  const ended = awaitOutcome(slowClient('COMPLETED'), 'run', { timeoutMs });
  await expect(ended).resolves.toMatchObject({ status: 'completed' });
});

test('of a run that goes on is over when its time is up', async () => {
  const error = await refusal(awaitOutcome(slowClient('RUNNING'), 'run', { timeoutMs: 5 }));
  expect(error.code).toBe('still-running');
});

test('is over at once when its signal aborts', async () => {
  const signal = AbortSignal.abort('no longer');
  const error = await refusal(awaitOutcome(slowClient('COMPLETED'), 'run', { signal }));
  expect(error.code).toBe('still-running');
});
