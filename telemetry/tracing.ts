/** Traces: OpenTelemetry's SDK in the worker's process. Loaded only where they are wanted. */
import type { HrTime, Tracer } from '@opentelemetry/api';
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { IResource } from '@opentelemetry/resources';
import { Resource } from '@opentelemetry/resources';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { inTrace } from './activity-traces';
import { cleaning } from './clean-spans';
import type { TelemetrySettings } from './settings';
import type { SpanRecord } from './workflow/step-report';

/** The name under which spans say who made them. */
const scope = { name: 'holdfast' };

/** Traces of one process. */
export interface Tracing {
  /** Lets each activity run in its trace, and gives its log lines the ids. */
  readonly activity: ActivityInterceptorsFactory;
  /** Takes spans of a workflow. */
  record(spans: readonly SpanRecord[]): void;
  /** Sends what is left. */
  shutdown(): Promise<void>;
}

function hrTime(ms: number): HrTime {
  return [Math.trunc(ms / 1_000), Math.round((ms % 1_000) * 1_000_000)];
}

function readableSpan(record: SpanRecord, resource: IResource): ReadableSpan {
  const { traceId, spanId, parentSpanId, name, startMs, endMs, error } = record;
  const traceFlags = TraceFlags.SAMPLED;
  return {
    name,
    kind: record.kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => ({ traceId, spanId, traceFlags }),
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(Math.max(endMs - startMs, 0)),
    status:
      error === undefined
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: error },
    attributes: record.attributes as ReadableSpan['attributes'],
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationLibrary: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Starts to trace. What the process's code traces by OpenTelemetry's API joins, unless it has a provider of its own. */
export function startTracing(
  { resource: attributes }: TelemetrySettings,
  target: NonNullable<TelemetrySettings['traces']>,
): Tracing {
  const resource = Resource.default().merge(new Resource(attributes));
  const exporter = new OTLPTraceExporter({ url: target.url, headers: { ...target.headers } });
  const processor: SpanProcessor = new BatchSpanProcessor(cleaning(exporter));
  const provider = new NodeTracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [processor],
  });
  provider.register();
  const tracer: Tracer = provider.getTracer(scope.name);
  return {
    activity: (activity) => inTrace(activity, tracer),
    record: (spans) => {
      for (const span of spans) processor.onEnd(readableSpan(span, resource));
    },
    shutdown: () => provider.shutdown(),
  };
}
