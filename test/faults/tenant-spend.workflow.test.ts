/** Two workers spend for one tenant, and one after the other is killed in mid-call: each request counts once, and the cap holds. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import { totalTokens } from '../../workflows/core/budget/spend';
import { outcomeOf } from '../support/agent-world';
import { startDevServer, uniqueName } from '../support/temporal';
import { temporaryStore } from '../support/temporary-store';
import { startWorkerProcess } from '../support/worker-process';

const tenant = 'acme';
const runs = 4;
/** Requests that a killed worker leaves without an answer, one for each kill. */
const kills = 2;
/** What a request of these runs may use at most: its prompt, far below 2,000 tokens, and a whole reply of 8,192. */
const mostTokens = 10_192;

test('requests of killed workers count once, with their worst case, and all others with what they used', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-tenant-'));
  const [server, emulator, stored] = await Promise.all([
    startDevServer(),
    VendorEmulator.start(),
    temporaryStore(),
  ]);
  const taskQueue = uniqueName('tenant');
  const options = {
    script: path.join(__dirname, 'fixtures', 'ledger-worker.ts'),
    env: {
      ADDRESS: server.address,
      TASK_QUEUE: taskQueue,
      STORE_URL: stored.url,
      EMULATOR_URL: emulator.baseUrl('anthropic'),
      LEDGER_FILE: path.join(directory, 'ledger'),
      TENANT_CAPS: JSON.stringify({ [tenant]: { usd: 100, tokens: 10_000_000 } }),
    },
  };
  let stalls = 0;
  emulator.script((request) => {
    if (stalls < kills && request.messagesCount >= 3) {
      stalls += 1;
      return fault.stall({
        during: reply.text('half a thought '.repeat(60)),
        afterCharacters: 500,
      });
    }
    const n = (request.messagesCount - 1) / 2;
    return n < 3 ? reply.toolCalls([{ name: 'record', input: { n } }]) : reply.text('done');
  });
  const crew = await Promise.all([startWorkerProcess(options), startWorkerProcess(options)]);
  const handles = await Promise.all(
    Array.from({ length: runs }, () =>
      server.client.start<typeof agentRun>(agentRunWorkflow, {
        taskQueue,
        workflowId: uniqueName('run'),
        args: [{ request: { agent: 'recorder', goal: 'Record.', tenant } }],
      }),
    ),
  );
  // Both stalled requests are in flight; whichever worker has them, both are killed.
  await emulator.waitFor(
    ({ requests }) =>
      stalls === kills && requests.filter(({ progress }) => progress.landed).length >= kills,
  );
  for (const at of [0, 1] as const) {
    const replacement = await startWorkerProcess(options);
    await crew[at].kill();
    crew[at] = replacement;
  }
  const outcomes = await Promise.all(handles.map(outcomeOf));
  await Promise.all(crew.map((worker) => worker.terminate()));
  const days = await Promise.all(
    [0, 86_400_000].map((ago) =>
      stored.store.tenants.usage(new Date(Date.now() - ago).toISOString().slice(0, 10)),
    ),
  );
  const sent = emulator.requests.length;
  await Promise.all([emulator.stop(), stored.dispose(), server.close()]);
  await rm(directory, { recursive: true, force: true });
  for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'completed' });
  const counted = days.flat().filter((day) => day.tenant === tenant);
  const tokens = counted.reduce((sum, { spent }) => sum + spent.tokens, 0);
  const begun = counted.reduce((sum, { requests }) => sum + requests, 0);
  // A worker may also be killed, or be given up, between the hold and the request.
  expect(begun).toBeGreaterThanOrEqual(sent);
  expect(counted.flatMap(({ held }) => Object.keys(held))).toEqual([]);
  const known = outcomes.reduce(
    (sum, { report }) => sum + totalTokens(report.usage) - (report.cost.estimatedTokens ?? 0),
    0,
  );
  const lost = tokens - known;
  expect(lost).toBeGreaterThanOrEqual(kills * 8_192);
  expect(lost).toBeLessThanOrEqual((begun - runs * 4) * mostTokens);
});
