/** Each example runs to its end on a real Temporal server, offline. */
import { triageOneTicket } from '../../examples/agent-in-workflow';
import { greet } from '../../examples/backend-client';
import { work } from '../../examples/backend-worker';
import { keepSecret } from '../../examples/encrypted-payloads';
import { refundInConversation } from '../../examples/customer-context';
import { PaymentService, refundOrder } from '../../examples/custom-tool';
import { fileTickets } from '../../examples/existing-code';
import { summarizeTicket } from '../../examples/existing-worker';
import { refundByMcp } from '../../examples/mcp-tools';
import { readInBrowser } from '../../examples/server-sent-events';
import { reportNow } from '../../examples/scheduled-reports';
import { askAboutInvoice } from '../../examples/handoff';
import { settleClaim } from '../../examples/images-and-files';
import { askTheWriter } from '../../examples/subagents';
import { greetTraced } from '../../examples/telemetry';
import { sortTicket } from '../../examples/vendor-settings';
import type { OfflineWorld } from '../../examples/offline-world';
import { inOfflineWorld } from '../../examples/offline-world';
import { reply } from '../../testing/index';
import { readEnvironment } from '../../workers/env';
import { temporaryStore } from '../support/temporary-store';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';
import { startOtlpReceiver } from '../telemetry/otlp-receiver';

let server: DevServer;
beforeAll(async () => {
  server = await startDevServer();
});
afterAll(() => server.close());

async function onTestServer<Result>(
  example: (world: OfflineWorld) => Promise<Result>,
): Promise<Result> {
  const environment = readEnvironment({ ...process.env, TEMPORAL_ADDRESS: server.address });
  return inOfflineWorld(
    uniqueName('example'),
    async (world) => {
      const result = await example(world);
      world.emulator.assertDrained();
      expect(world.emulator.refusals).toEqual([]);
      return result;
    },
    environment,
  );
}

test('existing-worker: an agent runs on a worker that has workflows of its own', async () => {
  const result = await onTestServer(summarizeTicket);
  expect(result).toMatchObject({
    status: 'completed',
    answer: 'The customer was charged twice for one order.',
  });
});

test('existing-code: an activity, a workflow and a tool of the AI SDK are tools as they are', async () => {
  const told = await onTestServer(async (world) => {
    const result = await fileTickets(world);
    expect(result).toMatchObject({ status: 'completed', answer: 'Both tickets are filed.' });
    return JSON.stringify(world.emulator.requests.at(-1)?.body);
  });
  expect(told).toContain('Ada');
  expect(told).toContain('filed under billing: Ada was charged twice');
  expect(told).toContain('filed under technical: The site is slow');
});

test('telemetry: a run leaves its trace at the collector that the environment names', async () => {
  const receiver = await startOtlpReceiver();
  const environment = readEnvironment({
    ...process.env,
    TEMPORAL_ADDRESS: server.address,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
  });
  expect(await greetTraced(environment)).toMatchObject({ status: 'completed' });
  const names = receiver.spans().map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining([
      'invoke_agent greeter',
      'chat claude-sonnet-5',
      'RunActivity:prepareRun',
    ]),
  );
  await receiver.close();
});

test("agent-in-workflow: a user's workflow goes on with what the agent answered", async () => {
  const filed = await onTestServer(triageOneTicket);
  expect(filed).toBe('filed under billing: My card shows two payments for one order.');
});

test('customer-context: tools serve one customer, over the runs of a conversation', async () => {
  const answers = await onTestServer(refundInConversation);
  expect(answers).toEqual(['A-17 is refunded; there is no order B-5.', 'You are welcome.']);
});

test("encrypted-payloads: Temporal's history holds nothing that can be read", async () => {
  const kept = await onTestServer(keepSecret);
  expect(kept).toEqual({ answer: 'The treasure is under the old oak.', isReadable: false });
});

test('images-and-files: a photo, a PDF and a drawing of a tool reach the model', async () => {
  const sent: string[] = [];
  const answer = await onTestServer(async (world) => {
    const given = await settleClaim(world);
    sent.push(JSON.stringify(world.emulator.requests.at(-1)?.body));
    return given;
  });
  expect(answer).toBe('Yes: 420 EUR for the fender.');
  expect(sent[0]?.match(/"type":"(?:image|document)"/g)).toHaveLength(3);
});

test('custom-tool: refunds once, after code has approved, with a typed result', async () => {
  const payments = new PaymentService();
  const result = await onTestServer((world) => refundOrder(world, payments));
  expect(result).toMatchObject({
    status: 'completed',
    output: { order: 'A-17', refundedEuros: 80 },
    report: { healed: { tool_execution_failed: 1 } },
  });
  expect(payments.count).toBe(1);
});

test('mcp-tools: refunds once by an MCP server, after a look at its policy and an approval', async () => {
  const contents: string[] = [];
  const { result, refunds } = await onTestServer(async (world) => {
    const all = await refundByMcp(world);
    contents.push(...world.emulator.requests.map((each) => JSON.stringify(each.body)));
    return all;
  });
  expect(result).toMatchObject({ status: 'completed', answer: 'A-17 is refunded.' });
  expect(refunds).toEqual(['A-17: 80 euros']);
  expect(contents.at(-1)).toContain('Refunds are possible for 30 days.');
  expect(contents[0]).not.toContain('delete_customer');
});

test('vendor-settings: the second route answers, at a cloud, in the form that was asked for', async () => {
  const result = await onTestServer(sortTicket);
  expect(result).toMatchObject({
    status: 'completed',
    output: { topic: 'billing', summary: 'Charged twice for A-17.', order: 'A-17' },
    report: { failovers: 1 },
  });
});

test('server-sent-events: a browser reads words while they arrive, and goes on where it was cut off', async () => {
  const { shown, ids } = await onTestServer(readInBrowser);
  const whole = 'Waters rise in spring, and fall in autumn.';
  expect(shown.length).toBeGreaterThan(3);
  for (const text of shown) expect(whole.startsWith(text)).toBe(true);
  expect(shown.at(-1)).toBe(whole);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(3);
});

test('scheduled-reports: a schedule starts a run on the current version of the workers', async () => {
  expect(await onTestServer(reportNow)).toBe('Nothing broke yesterday.');
});

test('subagents: two researchers work side by side under the budget of the run above', async () => {
  const result = await onTestServer(askTheWriter);
  expect(result).toMatchObject({
    status: 'completed',
    answer: '2 researchers answered.',
    report: {
      cost: { budgetUsd: 0.5, budgetTokens: 200_000 },
      subagents: [{ status: 'completed' }, { status: 'completed' }],
    },
  });
});

test('handoff: a specialist takes the conversation over, and an answer is corrected', async () => {
  expect(await onTestServer(askAboutInvoice)).toMatchObject({
    status: 'completed',
    answer: 'Invoice 7 is paid.',
    report: { agent: 'front-desk', actingAgent: 'billing', healed: { guardrail: 1 } },
  });
});

test('backend: a client that knows only an address gets what a worker of the environment made', async () => {
  const answer = await onTestServer(async ({ emulator, taskQueue }) => {
    emulator.script([reply.text('Good day, Ada.')]);
    const { store, url } = await temporaryStore();
    await store.close();
    const environment = readEnvironment({
      TEMPORAL_ADDRESS: server.address,
      HOLDFAST_TASK_QUEUE: taskQueue,
      HOLDFAST_STORE: url,
      ANTHROPIC_API_KEY: 'test-key',
      ANTHROPIC_BASE_URL: emulator.url,
    });
    const greeted: string[] = [];
    await work(environment, (worker) =>
      worker.runUntil(async () => {
        greeted.push(await greet('Ada', { address: server.address, taskQueue }));
      }),
    );
    return greeted;
  });
  expect(answer).toEqual(['Good day, Ada.']);
});
