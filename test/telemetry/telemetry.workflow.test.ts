/** A run with telemetry on, from its export alone: one trace that keeps the conventions, and counts that equal the run's report. */
import { randomUUID } from 'node:crypto';
import { WorkflowClient } from '@temporalio/client';
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry';
import type { Worker } from '@temporalio/worker';
import { Worker as TemporalWorker } from '@temporalio/worker';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { createActivities } from '../../activities/index';
import { defineSubagent } from '../../activities/subagents/define-subagent';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import { startTelemetry } from '../../telemetry/index';
import type { Telemetry } from '../../telemetry/index';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';
import { HoldfastPlugin } from '../../workers/holdfast-plugin';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import { emulatedProviders, otherModel, testModel } from '../support/agent-world';
import type { DevServer } from '../support/temporal';
import { startOwnServer } from '../support/temporal';
import { temporaryStore } from '../support/temporary-store';
import { conventionProblems } from './genai-conventions';
import type { OtlpReceiver, ReceivedSpan } from './otlp-receiver';
import { freePort, sampleSum, startOtlpReceiver } from './otlp-receiver';

/** A secret of a known shape, in the text of a failure. */
const planted = `sk-ant-api03-${'abCD1234'.repeat(11)}-AAAAAAAA`;

const flaky = defineTool({
  name: 'flaky',
  description: 'Fails once.',
  input: z.object({ n: z.number(), ok: z.boolean().optional() }),
  effect: 'keyed',
  execute: ({ n, ok = true }) => {
    if (!ok) throw new ToolError(`no way with ${planted}`);
    return `did ${n}`;
  },
});
const chain: AgentDefinition['chain'] = [
  { provider: 'anthropic', model: testModel },
  { provider: 'openai', model: otherModel },
];
const limits = { streamRetryBaseMs: 50, maxIterations: 40 };
const research = defineSubagent({
  name: 'research',
  description: 'Finds something out.',
  agent: 'researcher',
});
const agents: readonly AgentDefinition[] = [
  { name: 'lead', instructions: 'You lead.', chain, tools: [flaky, research], limits },
  { name: 'researcher', instructions: 'You research.', chain, tools: [flaky], limits },
].map((agent) => ({ ...agent, recovery: { mode: 'off' } }));

let receiver: OtlpReceiver;
let telemetry: Telemetry;
let server: DevServer;
let port: number;
beforeAll(async () => {
  receiver = await startOtlpReceiver();
  port = await freePort();
  telemetry = await startTelemetry({
    logLevel: 'silent',
    openTelemetry: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20dGVzdA==',
      OTEL_METRICS_EXPORTER: 'prometheus',
      OTEL_EXPORTER_PROMETHEUS_PORT: String(port),
      OTEL_SERVICE_NAME: 'support',
    },
  });
  server = await startOwnServer({ rollsOverAfter: 60 });
});
afterAll(async () => {
  await server.close();
  await receiver.close();
});

/** What the models say: by agent, and by how often it was asked. */
function scripted(emulator: VendorEmulator): void {
  let asked = 0;
  emulator.script((request) => {
    if (request.systemText.startsWith('You research'))
      return request.lastToolResults.length === 0
        ? reply.toolCalls([{ name: 'flaky', input: { n: 100 } }])
        : reply.text('Found.');
    asked += 1;
    // Retried on the route.
    if (asked === 1) return fault.http(529);
    // Fails over.
    if (asked === 3) return fault.http(401);
    if (asked === 5) return reply.toolCalls([{ name: 'flaky', input: { n: 5, ok: false } }]);
    if (asked === 7) return reply.toolCalls([{ name: 'research', input: { task: 'look' } }]);
    return asked < 20
      ? reply.toolCalls([{ name: 'flaky', input: { n: asked } }])
      : reply.text('Done.');
  });
}

/** Two workers, neither of which keeps a run between its tasks: every task replays all before it. */
async function withWorkers<Result>(
  emulator: VendorEmulator,
  work: (taskQueue: string) => Promise<Result>,
): Promise<Result> {
  const stored = await temporaryStore();
  const taskQueue = `telemetry-${randomUUID()}`;
  const providers = emulatedProviders(emulator);
  const make = (buildId: string): Promise<Worker> =>
    TemporalWorker.create({
      connection: server.nativeConnection,
      namespace: server.namespace,
      taskQueue,
      maxCachedWorkflows: 0,
      // One process may have two workers of a queue if their builds differ.
      workerDeploymentOptions: {
        version: { deploymentName: '', buildId },
        useWorkerVersioning: false,
      },
      plugins: [
        new HoldfastPlugin({
          activities: createActivities({ store: stored.store, providers, agents }),
        }),
        telemetry,
      ],
    });
  const workers = [await make('one'), await make('two')];
  const running = workers.map((worker) => worker.run());
  try {
    return await work(taskQueue);
  } finally {
    workers.forEach((worker) => {
      worker.shutdown();
    });
    await Promise.all(running);
    await stored.dispose();
  }
}

const idOf = (span: ReceivedSpan): string => span.spanId;
const ofOperation = (spans: readonly ReceivedSpan[], operation: string): readonly ReceivedSpan[] =>
  spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === operation);

test('a run over workers, a subagent and roll-overs is one trace, and is counted once', async () => {
  const emulator = await VendorEmulator.start();
  scripted(emulator);
  const runId = `run-${randomUUID()}`;
  const client = new WorkflowClient({
    connection: server.connection,
    namespace: server.namespace,
    interceptors: [new OpenTelemetryWorkflowClientInterceptor()],
  });
  const outcome = await withWorkers(emulator, (taskQueue) =>
    client.execute<typeof agentRun>(agentRunWorkflow, {
      taskQueue,
      workflowId: runId,
      args: [{ request: { agent: 'lead', goal: 'Lead on.' } }],
    }),
  );
  await emulator.stop();
  expect(outcome.status).toBe('completed');
  await telemetry.shutdown();
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const spans = receiver.spans();

  // One trace, whose every span but the first has its parent in it.
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(new Set(spans.map(idOf)).size).toBe(spans.length);
  const ids = new Set(spans.map(idOf));
  const orphans = spans.filter(
    ({ parentSpanId = '' }) => parentSpanId !== '' && !ids.has(parentSpanId),
  );
  expect(orphans.map(({ name }) => name)).toEqual([]);
  const runs = ofOperation(spans, 'invoke_agent');
  const segmentsOf = (agent: string) =>
    runs.filter(({ attributes }) => attributes['gen_ai.agent.name'] === agent);
  expect(segmentsOf('lead').length).toBeGreaterThan(1);
  expect(segmentsOf('researcher')).toHaveLength(1);
  const roots = spans.filter(({ parentSpanId = '' }) => parentSpanId === '');
  expect(roots.map(({ name }) => name)).toEqual(['StartWorkflow:agentRun']);
  expect(spans.every(({ serviceName }) => serviceName === 'support')).toBe(true);

  // The conventions.
  expect(spans.flatMap(conventionProblems)).toEqual([]);
  const chats = ofOperation(spans, 'chat');
  const answered = chats.filter(({ attributes }) => 'gen_ai.usage.cost' in attributes);
  const sum = (key: string): number =>
    answered.reduce((total, { attributes }) => total + Number(attributes[key]), 0);
  const { usage, cost } = outcome.report;
  expect(sum('gen_ai.usage.cost')).toBeCloseTo(cost.usd ?? NaN, 9);
  expect(sum('gen_ai.usage.output_tokens')).toBe(usage.outputTokens);
  expect(chats.filter(({ attributes }) => attributes['error.type'] === 'auth')).toHaveLength(1);
  const tools = ofOperation(spans, 'execute_tool');
  // The subagent made one more.
  const { toolCallsSucceeded, toolCallsFailed } = outcome.report;
  expect(tools).toHaveLength(toolCallsSucceeded + toolCallsFailed + 1);
  const failed = tools.filter(({ status }) => status.code === 2);
  expect(failed.map(({ attributes }) => attributes['error.type'])).toEqual([
    'tool_execution_failed',
  ]);
  expect(failed[0]?.status.message).toContain('[redacted]');
  expect(Buffer.concat(receiver.bodies('/v1/traces')).toString()).not.toContain(planted);
  expect(receiver.headers.every(({ authorization }) => authorization === 'Basic dGVzdA==')).toBe(
    true,
  );

  // Counts are those of the report, although each task replayed the run.
  const count = (name: string, labels: Readonly<Record<string, string>> = {}): number =>
    sampleSum(page, name, labels);
  const { iterations, corrections, failovers } = outcome.report;
  expect({
    iterations: count('agent_iterations', { agent: 'lead' }),
    troubles: count('agent_corrections'),
    atFirstRetry: count('agent_corrections_first_retry'),
    failovers: count('agent_provider_failovers', {
      agent: 'lead',
      provider: 'anthropic',
      to: 'openai',
    }),
  }).toEqual({
    iterations,
    troubles: corrections?.troubles,
    atFirstRetry: corrections?.atFirstRetry,
    failovers,
  });
  expect(count('agent_tokens', { type: 'output' })).toBe(usage.outputTokens);
  expect(count('agent_cost_nanousd') / 1e9).toBeCloseTo(cost.usd ?? NaN, 9);
  expect({
    recoverable: count('agent_errors_recoverable', { code: 'tool_execution_failed' }),
    retryAttempts: count('agent_retry_attempts', { tool: 'flaky' }),
    healed: count('agent_errors_healed', { code: 'tool_execution_failed', by: 'model' }),
    retries: count('agent_provider_retries', { provider: 'anthropic', code: 'overloaded' }),
    cooldowns: count('agent_provider_cooldowns', {
      agent: 'lead',
      provider: 'anthropic',
      reason: 'auth',
    }),
    started: count('agent_runs_started'),
    ended: count('agent_runs_ended', { status: 'completed', reason: 'none' }),
  }).toEqual({
    recoverable: 1,
    retryAttempts: 1,
    healed: 1,
    retries: 1,
    cooldowns: 1,
    started: 2,
    ended: 2,
  });
});
