/** `holdfast worker` as people start it: OpenTelemetry's variables turn telemetry on, and without them nothing of it is loaded. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { reply } from '../../testing/emulator/script';
import { builtInAgentName } from '../../workers/cli/built-in-agent-name';
import type { agentRun } from '../../workflows/agent-run';
import { agentRunWorkflow } from '../../workflows/contract';
import { eventually, outcomeOf } from '../support/agent-world';
import { uniqueName } from '../support/temporal';
import type { CommandWorld } from '../client/command-world';
import { startCommandWorld } from '../client/command-world';
import { conventionProblems } from './genai-conventions';
import { startOtlpReceiver } from './otlp-receiver';

let world: CommandWorld;
beforeAll(async () => {
  world = await startCommandWorld();
});
afterAll(() => world.dispose());

test('exports traces and metrics by OTLP, and logs JSON with the ids of the trace', async () => {
  const receiver = await startOtlpReceiver();
  world.emulator.script([
    reply.toolCalls([{ name: 'read_file', input: { path: 'missing.txt' } }]),
    reply.toolCalls([{ name: 'read_file', input: { path: 'a.txt' } }]),
    reply.text('It says hello.'),
  ]);
  const child = world.spawn(['worker', '--json'], {
    variables: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_METRIC_EXPORT_INTERVAL: '200',
      HOLDFAST_LOG_LEVEL: 'info',
    },
  });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const workspace = path.join(world.folder, 'workspace');
  const handle = await world.client.start<typeof agentRun>(agentRunWorkflow, {
    taskQueue: world.variables['HOLDFAST_TASK_QUEUE'] ?? '',
    workflowId: uniqueName('traced'),
    args: [{ request: { agent: builtInAgentName, goal: 'Read a file.', workspace } }],
  });
  const outcome = await outcomeOf(handle);
  expect(outcome).toMatchObject({ status: 'completed' });
  // The name of a metric is text in its protobuf form.
  await eventually(
    () => Promise.resolve(Buffer.concat(receiver.bodies('/v1/metrics')).toString('latin1')),
    (bytes) => bytes.includes('agent_errors_recoverable') && bytes.includes('agent_retry_attempts'),
  );
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  const spans = receiver.spans();
  await receiver.close();
  expect(spans.flatMap(conventionProblems)).toEqual([]);
  // Nobody gave a trace: it has the id of the run's first run.
  expect([...new Set(spans.map(({ traceId }) => traceId))]).toEqual([
    handle.firstExecutionRunId.replaceAll('-', ''),
  ]);
  const lines = log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const [error] = lines.filter(({ msg }) => msg === 'ErrorEvent');
  expect(error).toMatchObject({
    workflowId: handle.workflowId,
    iteration: 1,
    trace_id: handle.firstExecutionRunId.replaceAll('-', ''),
    span_id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
    failure: expect.objectContaining({ code: 'tool_execution_failed' }) as unknown,
  });
  expect(lines.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(['RunStartedEvent', 'HealedEvent', 'RunEndedEvent']),
  );
});

test('says what it cannot do before it connects', async () => {
  const { code, err } = await world.inProcess(['worker'], {
    variables: { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
  });
  expect(err).toContain('OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"');
  expect(code).not.toBe(0);
});

test('loads nothing of it where no variable asks for it', () => {
  const files = ['workers/cli/local-worker.js', 'workers/index.js', 'index.js'];
  const code = `${files.map((file) => `require(${JSON.stringify(path.resolve('dist', file))});`).join('')}
    console.log(Object.keys(require.cache).filter((file) => /opentelemetry|dist.telemetry/.test(file)).join())`;
  expect(execFileSync(process.execPath, ['-e', code], { encoding: 'utf8' }).trim()).toBe('');
});
