/** Budgets when things break: a worker killed in mid-call is paid for at its worst, and a fan-out keeps to its budget. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { playBudgetTrial, scoreBudget } from '../../bench/scorecard/budget/score-budget';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import { outcomeOf } from '../support/agent-world';
import { startDevServer, uniqueName } from '../support/temporal';
import { temporaryStore } from '../support/temporary-store';
import { startWorkerProcess } from '../support/worker-process';

test('a worker killed in mid-call: the ledger is never below the bill, and says what is an estimate', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-budget-'));
  const [server, emulator, stored] = await Promise.all([
    startDevServer(),
    VendorEmulator.start(),
    temporaryStore(),
  ]);
  const taskQueue = uniqueName('budget');
  const options = {
    script: path.join(__dirname, 'fixtures', 'ledger-worker.ts'),
    env: {
      ADDRESS: server.address,
      TASK_QUEUE: taskQueue,
      STORE_URL: stored.url,
      EMULATOR_URL: emulator.baseUrl('anthropic'),
      LEDGER_FILE: path.join(directory, 'ledger'),
      // On a busy machine, the second worker must not be taken for a lost one too.
      HEARTBEAT_TIMEOUT_MS: '5000',
    },
  };
  emulator.script([
    fault.stall({ during: reply.text('half a thought '.repeat(60)), afterCharacters: 500 }),
    reply.text('done'),
  ]);
  const first = await startWorkerProcess(options);
  const handle = await server.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue,
    workflowId: uniqueName('run'),
    args: [{ request: { agent: 'recorder', goal: 'Think.', budget: { usd: 1 } } }],
  });
  await emulator.waitFor(({ requests }) => requests[0]?.progress.landed === true);
  await first.kill();
  const second = await startWorkerProcess(options);
  const outcome = await outcomeOf(handle);
  const cost = outcome.report.cost;
  await second.terminate();
  const billUsd = emulator.bill.usd;
  await Promise.all([emulator.stop(), stored.dispose(), server.close()]);
  await rm(directory, { recursive: true, force: true });
  expect(outcome).toMatchObject({ status: 'completed', answer: 'done' });
  expect((cost.usd ?? 0) - (cost.estimatedUsd ?? 0)).toBeLessThanOrEqual(billUsd);
  expect(cost.usd).toBeGreaterThan(0.5 * billUsd);
  expect(cost.usd).toBeLessThan(1.3 * billUsd);
  // All that the lost attempt might have said: 8,192 tokens at $10 per million.
  expect(cost.mostUsd).toBeGreaterThan(0.08);
});

const small = { id: 'six', subagents: 6, atOnce: 3, seed: 3 };

test('subagents side by side keep to one budget, and the ledger is the bill', async () => {
  const { summary, rows } = await scoreBudget([{ ...small, budgetUsd: 0.03 }]);
  expect(rows[0]?.wrong).toBeUndefined();
  expect(summary).toMatchObject({ subagents: 6, budgetUsd: 0.03, passed: false, toTheCent: true });
  const ample = await playBudgetTrial({ ...small, budgetUsd: 2 });
  expect(ample).toMatchObject({ started: 6, completed: 6 });
  expect(ample.ledgerUsd).toBeCloseTo(ample.billUsd, 4);
});
