/** A real worker process: it serves, it is killed and replaced, it ends gracefully on SIGTERM. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import type { WorkerProcess } from '../support/worker-process';
import { startWorkerProcess } from '../support/worker-process';

const script = path.join(__dirname, 'fixtures', 'worker-main.ts');

let server: DevServer;
let gateFolder: string;
let taskQueue: string;
const workers: WorkerProcess[] = [];

async function startWorker(): Promise<WorkerProcess> {
  const worker = await startWorkerProcess({
    script,
    args: [server.address, taskQueue, gateFolder],
  });
  workers.push(worker);
  return worker;
}

beforeAll(async () => {
  server = await startDevServer();
});
beforeEach(async () => {
  gateFolder = await mkdtemp(path.join(tmpdir(), 'holdfast-gate-'));
  taskQueue = uniqueName('queue');
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.kill()));
  await rm(gateFolder, { recursive: true, force: true });
});
afterAll(() => server.close());

it('goes on with a run on another worker after SIGKILL', async () => {
  const first = await startWorker();
  const handle = await server.client.start('waiting', {
    taskQueue,
    workflowId: uniqueName('waiting'),
  });
  await handle.query('__stack_trace');
  await first.kill();
  await startWorker();
  await handle.signal('finish', 'done by the second');
  expect(await handle.result()).toBe('done by the second');
});

it('lets a running activity end on SIGTERM, then exits with code 0', async () => {
  const first = await startWorker();
  const handle = await server.client.start('greeting', {
    taskQueue,
    workflowId: uniqueName('greeting'),
    args: ['Ada'],
  });
  await first.printed('greeting Ada');
  first.requestStop();
  await startWorker();
  await writeFile(path.join(gateFolder, 'open'), '');
  expect(await first.exited()).toBe(0);
  expect(await handle.result()).toBe(`hello Ada from ${first.pid}`);
});

it('shows its build id and process in the history', async () => {
  const worker = await startWorker();
  const handle = await server.client.start('echo', {
    taskQueue,
    workflowId: uniqueName('echo'),
    args: ['x'],
  });
  await handle.result();
  const { events } = await handle.fetchHistory();
  const completed = events?.find((event) => event.workflowTaskCompletedEventAttributes);
  const attributes = completed?.workflowTaskCompletedEventAttributes;
  expect(attributes?.identity).toMatch(new RegExp(`^${worker.pid}@.{1,12}$`));
  expect(JSON.stringify(attributes)).toContain('fixture-1');
});
