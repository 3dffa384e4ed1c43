/** `events`: the same entries under the same ids for everybody, past and live, over roll-overs, from any entry on. */
import type { WorkflowClient } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { AgentClient } from '../../client/agent-client';
import type { RunEntry } from '../../client/history/fold';
import type { EventOptions } from '../../client/history/run-events';
import type { RunHandle } from '../../client/run-handle';
import type { DevServer } from '../support/temporal';
import { startOwnServer, uniqueName } from '../support/temporal';
import type { Script, Stage } from './scripted-run';
import { createStage, gate, refusal } from './scripted-run';

let server: DevServer;
let stage: Stage;
beforeAll(async () => {
  server = await startOwnServer({ rollsOverAfter: 24 });
});
beforeEach(() => {
  stage = createStage(server);
});
afterAll(() => server.close());

async function read(run: RunHandle, options: EventOptions = {}): Promise<readonly RunEntry[]> {
  const entries: RunEntry[] = [];
  for await (const entry of run.events(options)) entries.push(entry);
  return entries;
}

/** A client as another process has it; `asked` counts its questions for history. */
function otherClient(): { readonly client: AgentClient; readonly asked: () => number } {
  const { connection, namespace, address } = server;
  const temporal = new Client({ connection, namespace });
  let asked = 0;
  const workflowService = new Proxy(temporal.workflow.workflowService, {
    get(service, name) {
      if (name === 'getWorkflowExecutionHistory') asked += 1;
      return Reflect.get(service, name) as unknown;
    },
  });
  const workflow = new Proxy(temporal.workflow, {
    get: (real: WorkflowClient, name) =>
      name === 'workflowService' ? workflowService : (Reflect.get(real, name) as unknown),
  });
  const counted = new Proxy(temporal, {
    get: (real, name) => (name === 'workflow' ? workflow : (Reflect.get(real, name) as unknown)),
  });
  return {
    client: new AgentClient(counted, { taskQueue: stage.taskQueue, address }),
    asked: () => asked,
  };
}

/** A run of twelve iterations; the sixth waits until the test lets it go on. */
async function startLongRun(): Promise<{
  readonly run: RunHandle;
  readonly goOn: () => void;
  readonly stop: () => Promise<unknown>;
}> {
  const half = gate();
  const script: Script = {
    async model({ iteration }) {
      if (iteration === 6) await half.opened;
      return iteration >= 12
        ? 'done'
        : [{ name: 'read', label: `f${iteration}` }, { name: 'grep' }];
    },
  };
  const workers = await Promise.all([stage.decide(), stage.act(script)]);
  const run = await stage.client.start({
    ...{ agent: 'scout', goal: 'find it', runId: uniqueName('run') },
    limits: { maxIterations: 200 },
  });
  const goOn = (): void => {
    half.open();
  };
  return { run, goOn, stop: () => Promise.all(workers.map((worker) => worker.stop())) };
}

it('gives readers the same ids, and each the rest behind any of them, over roll-overs, from any process', async () => {
  const { run, goOn, stop } = await startLongRun();
  // One reads to the end; one leaves in the middle, and its place is taken by another process.
  const whole = read(run, { follow: true });
  const first: RunEntry[] = [];
  for await (const entry of run.events({ follow: true })) {
    first.push(entry);
    if (entry.type === 'IterationStartedEvent' && entry.iteration === 6) break;
  }
  const { client, asked } = otherClient();
  const left = first.at(-1)?.id ?? '';
  const rest = read(client.run(run.runId), { after: left, follow: true });
  goOn();
  const entries = await whole;
  expect([...first, ...(await rest)]).toEqual(entries);
  expect(entries.at(0)).toMatchObject({ type: 'RunStartedEvent', id: '1.4.0' });
  expect(entries.at(-1)?.type).toBe('RunEndedEvent');
  expect(
    entries.flatMap((entry) => ('segment' in entry ? entry.segment : [])).length,
  ).toBeGreaterThan(2);
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
  // After the end too.
  const [other, every] = [client.run(run.runId), Math.floor(entries.length / 8)];
  expect(await read(other)).toEqual(entries);
  for (let at = 0; at < entries.length; at += every)
    expect(await read(other, { after: entries[at]?.id ?? '' })).toEqual(entries.slice(at + 1));
  // Segments before that of the entry are not read.
  const before = asked();
  await read(client.run(run.runId), { after: entries.at(-1)?.id ?? '' });
  expect(asked() - before).toBeLessThan(4);
  await stop();
});

it('reads on when its reader does, and ends quietly at the signal', async () => {
  const { run, goOn, stop } = await startLongRun();
  const { client, asked } = otherClient();
  const slow = client.run(run.runId).events({ follow: true });
  const [one] = [(await slow.next()).value];
  expect(one).toMatchObject({ type: 'RunStartedEvent' });
  const before = asked();
  goOn();
  const entries = await read(run, { follow: true });
  expect(asked()).toBe(before);
  const others: RunEntry[] = [];
  for await (const entry of slow) others.push(entry);
  expect([one, ...others]).toEqual(entries);
  await stop();

  const idle = await stage.client.start({
    agent: 'scout',
    goal: 'wait',
    runId: uniqueName('idle'),
  });
  const leave = new AbortController();
  const told = read(idle, { follow: true, signal: leave.signal });
  leave.abort();
  expect(await told).toEqual([]);
  await server.client.getHandle(idle.runId).terminate();
});

it('names what a wait is for, so that what is shown is what is approved', async () => {
  const script: Script = {
    model: ({ iteration }) =>
      iteration === 1 ? [{ name: 'pay', label: 'A-17', needsApproval: true }] : 'paid',
  };
  const workers = await Promise.all([stage.decide(), stage.act(script)]);
  const run = await stage.client.start({ agent: 'payer', goal: 'pay', runId: uniqueName('pay') });
  const entries: RunEntry[] = [];
  for await (const entry of run.events({ follow: true })) {
    entries.push(entry);
    if (entry.type !== 'WaitStartedEvent') continue;
    const { wait } = entry;
    if (wait.kind === 'approval') {
      const [item] = await run.pending();
      expect(item).toMatchObject({ type: 'approval', approvalId: wait.id, digest: wait.digest });
      const other = await refusal(run.approve(wait.id, { digest: 'another action' }));
      expect(other.code).toBe('refused');
      await run.escalate('look at this first');
      await run.approve(wait.id, { digest: wait.digest });
    } else if (wait.kind === 'question') await run.answer(wait.id, 'go on');
  }
  const waits = entries.flatMap((entry) =>
    entry.type === 'WaitStartedEvent' || entry.type === 'WaitEndedEvent'
      ? [[entry.type, entry.wait.kind]]
      : [],
  );
  expect(waits).toEqual([
    ['WaitStartedEvent', 'approval'],
    ['WaitEndedEvent', 'approval'],
    ['WaitStartedEvent', 'question'],
    ['WaitEndedEvent', 'question'],
  ]);
  await Promise.all(workers.map((worker) => worker.stop()));
});
