/** Traces of activities: whose context their code runs in, and which spans an attempt leaves. */
import { setTimeout as delay } from 'node:timers/promises';
import type { SpanContext } from '@opentelemetry/api';
import { context, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { CompleteAsyncError, log } from '@temporalio/activity';
import {
  ApplicationFailure,
  ApplicationFailureCategory,
  defaultPayloadConverter,
} from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { LogEntry } from '@temporalio/worker';
import { inTrace } from '../../telemetry/activity-traces';

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
const tracer = provider.getTracer('test');

const lines: LogEntry[] = [];
const logger = new DefaultLogger('INFO', (entry) => lines.push(entry));

afterEach(() => {
  lines.length = 0;
  exporter.reset();
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const senders = ['b7ad6b7169203331', '00f067aa0ba902b7'] as const;

/** Runs an activity's code as a worker with traces does. `sender` asks for the activity; without it, nobody who traces. */
function run<Result>(
  { type, sender }: { readonly type: string; readonly sender?: string },
  work: () => Promise<Result>,
): Promise<Result> {
  const traceparent = `00-${traceId}-${sender ?? ''}-01`;
  const headers =
    sender === undefined
      ? {}
      : { '_tracer-data': defaultPayloadConverter.toPayload({ traceparent }) };
  const environment = new MockActivityEnvironment(
    { activityType: type, activityId: 'a1', attempt: 2 },
    {
      logger,
      interceptors: [
        () => ({ inbound: { execute: (input, next) => next({ ...input, headers }) } }),
        (activity) => inTrace(activity, tracer),
      ],
    },
  );
  return environment.run(work);
}

const activeSpan = (): SpanContext | undefined => trace.getActiveSpan()?.spanContext();
const spans = (): readonly ReadableSpan[] => exporter.getFinishedSpans();
const named = (name: string): ReadableSpan | undefined =>
  spans().find((span) => span.name === name);

test('what a tool traces is part of its call, after every kind of pause', async () => {
  await run({ type: 'runTool', sender: senders[0] }, async () => {
    tracer.startSpan('at once').end();
    await delay(1);
    tracer.startSpan('later').end();
    await new Promise<void>((resolve) =>
      setImmediate(() => {
        tracer.startSpan('in a callback').end();
        resolve();
      }),
    );
  });
  expect(spans().map(({ name }) => name)).toEqual(['at once', 'later', 'in a callback']);
  for (const span of spans()) {
    expect(span.parentSpanId).toBe(senders[0]);
    expect(span.spanContext().traceId).toBe(traceId);
  }
});

test('a span within a span is its child, and what asks for the root gets it', async () => {
  await run({ type: 'runTool', sender: senders[0] }, () =>
    tracer.startActiveSpan('outer', async (outer) => {
      await delay(1);
      tracer.startSpan('inner').end();
      context.with(ROOT_CONTEXT, () => {
        expect(activeSpan()).toBeUndefined();
        tracer.startSpan('apart').end();
      });
      expect(activeSpan()?.spanId).toBe(outer.spanContext().spanId);
      outer.end();
    }),
  );
  expect(named('outer')?.parentSpanId).toBe(senders[0]);
  expect(named('inner')?.parentSpanId).toBe(named('outer')?.spanContext().spanId);
  expect(named('apart')?.parentSpanId).toBeUndefined();
});

test('other work has a span of its own, and what it traces is part of that', async () => {
  await run({ type: 'prepareRun', sender: senders[1] }, async () => {
    await delay(1);
    tracer.startSpan('read').end();
  });
  const own = named('RunActivity:prepareRun');
  expect(own?.parentSpanId).toBe(senders[1]);
  expect(own?.attributes).toMatchObject({ temporalActivityId: 'a1', 'holdfast.attempt': 2 });
  expect(own?.status.code).toBe(SpanStatusCode.UNSET);
  expect(named('read')?.parentSpanId).toBe(own?.spanContext().spanId);
});

test('calls at the same time keep their contexts apart, and nothing is left behind', async () => {
  const seen = await Promise.all(
    senders.map((sender) =>
      run({ type: 'runTool', sender }, async () => {
        const ids: (string | undefined)[] = [];
        for (let turn = 0; turn < 5; turn += 1) {
          await delay(1);
          ids.push(activeSpan()?.spanId);
        }
        return ids;
      }),
    ),
  );
  expect(seen).toEqual(senders.map((sender) => Array.from({ length: 5 }, () => sender)));
  expect(activeSpan()).toBeUndefined();
});

test('a call whose sender does not trace runs without a span', async () => {
  await run({ type: 'runTool' }, () => {
    expect(activeSpan()).toBeUndefined();
    return Promise.resolve();
  });
  expect(spans()).toEqual([]);
});

test('an attempt of a call that failed leaves a span, unless no request was sent', async () => {
  const failure = ApplicationFailure.create({ type: 'overloaded', message: 'too busy' });
  const call = { type: 'callModel', sender: senders[0] };
  await expect(run(call, () => Promise.reject(failure))).rejects.toBe(failure);
  const spared = ApplicationFailure.create({ type: 'overloaded', details: [{ spared: true }] });
  await expect(run(call, () => Promise.reject(spared))).rejects.toBe(spared);
  expect(spans()).toHaveLength(1);
  const failed = named('RunActivity:callModel');
  expect(failed?.parentSpanId).toBe(senders[0]);
  expect(failed?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'too busy' });
  expect(failed?.attributes['error.type']).toBe('overloaded');
});

test('a failure of other work is recorded as an event, with its stack', async () => {
  const failing = run({ type: 'notify', sender: senders[0] }, () =>
    Promise.reject(new TypeError('no webhook')),
  );
  await expect(failing).rejects.toThrow('no webhook');
  const own = named('RunActivity:notify');
  expect(own?.attributes['error.type']).toBe('TypeError');
  expect(
    own?.events.map(({ name, attributes }) => [name, attributes?.['exception.message']]),
  ).toEqual([['exception', 'no webhook']]);
});

test('a failure that the code declares benign is none', async () => {
  const benign = ApplicationFailure.create({
    message: 'not yet',
    category: ApplicationFailureCategory.BENIGN,
  });
  const other = { type: 'poll', sender: senders[0] };
  await expect(run(other, () => Promise.reject(benign))).rejects.toBe(benign);
  expect(named('RunActivity:poll')?.status.code).toBe(SpanStatusCode.UNSET);
  expect(named('RunActivity:poll')?.events).toEqual([]);
});

test('an activity that somebody else completes did not fail; one that throws a text did', async () => {
  const other = { type: 'notify', sender: senders[0] };
  await expect(run(other, () => Promise.reject(new CompleteAsyncError()))).rejects.toThrow();
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- code of users may
  await expect(run(other, () => Promise.reject('no way'))).rejects.toBe('no way');
  expect(spans().map(({ status }) => status)).toEqual([
    { code: SpanStatusCode.UNSET },
    { code: SpanStatusCode.ERROR, message: 'no way' },
  ]);
});

test('log lines name the span of the call, or that of other work', async () => {
  await run({ type: 'runTool', sender: senders[0] }, async () => {
    await delay(1);
    log.info('at work');
  });
  await run({ type: 'compact', sender: senders[0] }, async () => {
    await delay(1);
    log.info('at work');
  });
  const own = named('RunActivity:compact')?.spanContext().spanId;
  const said = lines.filter(({ message }) => message === 'at work');
  expect(
    said.map(({ meta }): readonly unknown[] => [meta?.['trace_id'], meta?.['span_id']]),
  ).toEqual([
    [traceId, senders[0]],
    [traceId, own],
  ]);
});
