/** The worker is killed on each rung of the ladder, and another one goes on from the same rung. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import { eventually, firstPending, outcomeOf, statusOf } from '../support/agent-world';
import { readLedger } from '../support/ledger-file';
import type { PhaseWorld } from '../support/phase-world';
import { startPhaseWorld } from '../support/phase-world';

let world: PhaseWorld;
beforeAll(async () => {
  world = await startPhaseWorld('rungs');
});
afterAll(() => world.dispose());

interface LedgerLine {
  readonly type: 'begun' | 'done' | 'aborted';
  readonly key: string;
}

/** What the fixture's tools noted. */
const ledger = (): readonly LedgerLine[] =>
  readLedger(world.fileOf('ledger')) as readonly LedgerLine[];

function plan(strategy: string, confidence: number, toolName: string, question: string): Step {
  const parametersJson = toolName === '' ? '' : '{}';
  const action = { toolName, parametersJson, escalationMessage: question };
  const reasoning = 'The file is what is missing.';
  return reply.text(
    JSON.stringify({ strategy, reasoning, action, expectedOutcome: 'It comes.', confidence }),
  );
}

const isPlanner = ({ systemText }: RecordedRequest): boolean =>
  systemText.includes('plan the recovery');

test('planning, asking, acting and escalated: each rung outlives its worker', async () => {
  const { server, emulator, taskQueue, killAndReplace } = world;
  emulator.script((request) => {
    const text = JSON.stringify(request.body['messages']);
    if (!isPlanner(request))
      return text.includes('look in the attic')
        ? reply.text('It is in the attic.')
        : reply.toolCalls([{ name: 'look', input: {} }]);
    if (text.includes('the file is there')) return plan('escalate', 0.9, '', 'Where is it?');
    // The planner's first answer never comes: its worker is killed while it waits.
    return emulator.requests.filter(isPlanner).length === 1
      ? fault.stall()
      : plan('alternative-tool', 0.6, 'wait_keyed', '');
  });
  const handle = await server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: `run-${randomUUID()}`,
    args: [{ request: { agent: 'climber', goal: 'Find it.' } }],
  });

  await emulator.waitFor(({ requests }) => requests.some(isPlanner));
  expect((await statusOf(handle)).recovery).toMatchObject({ stage: 'planning' });
  await killAndReplace();

  const asked = await firstPending(handle);
  expect(asked).toMatchObject({ type: 'approval', tool: 'wait_keyed' });
  await killAndReplace();
  // The query may have answered from a workflow task that died with its worker: the time to expire then counts anew.
  const anyExpiry = expect.any(Number) as number;
  expect(await firstPending(handle)).toEqual({ ...asked, expiresAtMs: anyExpiry });
  expect((await statusOf(handle)).recovery).toMatchObject({ stage: 'asking' });
  const { approvalId, digest } = asked.type === 'approval' ? asked : { approvalId: '', digest: '' };
  await handle.executeUpdate('resolveApproval', {
    args: [{ approvalId, digest, decision: 'approve' }],
  });

  await eventually(
    () => Promise.resolve(ledger()),
    (lines) => lines.length === 1,
  );
  await killAndReplace();
  await eventually(
    () => Promise.resolve(ledger()),
    (lines) => lines.length === 2,
  );
  writeFileSync(world.fileOf('gate'), '');

  const question = await firstPending(handle);
  expect(question).toMatchObject({ type: 'question' });
  await killAndReplace();
  expect(await firstPending(handle)).toEqual(question);
  const questionId = question.type === 'question' ? question.questionId : '';
  await handle.executeUpdate('answer', { args: [{ questionId, answer: 'look in the attic' }] });

  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    answer: 'It is in the attic.',
  });
  expect(new Set(ledger().map(({ key }) => key)).size).toBe(1);
  expect(ledger().filter(({ type }) => type === 'done')).toHaveLength(1);
  // One plan was lost with its worker and asked for again; no rung was climbed twice.
  expect(emulator.requests.filter(isPlanner)).toHaveLength(3);
});
