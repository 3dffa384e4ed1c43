/** Traces: OpenTelemetry's SDK in the worker's process. Loaded only where they are wanted. */
import type { Context, HrTime, Tracer } from '@opentelemetry/api';
import { context, propagation, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
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
import {
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryActivityOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import type { Context as ActivityContext } from '@temporalio/activity';
import type { Headers } from '@temporalio/common';
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import type {
  ActivityInboundCallsInterceptor,
  ActivityInterceptorsFactory,
} from '@temporalio/worker';
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

/** Activities whose call has a span of the workflow's. */
const calls: ReadonlySet<string> = new Set(['callModel', 'runTool']);

/** The context that the workflow sent. */
function contextIn(headers: Headers): Context {
  const payload = headers['_tracer-data'];
  if (payload === undefined) return context.active();
  return propagation.extract(context.active(), defaultPayloadConverter.fromPayload(payload));
}

/** Whether no request was sent, so that the call has no span. */
function wasSpared(thrown: unknown): boolean {
  const [failure] = thrown instanceof ApplicationFailure ? (thrown.details ?? []) : [];
  return (failure as { readonly spared?: true } | undefined)?.spared === true;
}

/**
 * Runs an attempt of a call within the call's span. An attempt that fails has a span of its own, named as Temporal's interceptor
 * would: the call has only the end of the last one.
 */
function withinCall({ info }: ActivityContext, tracer: Tracer): ActivityInboundCallsInterceptor {
  return {
    execute: async (input, next) => {
      const within = contextIn(input.headers);
      const startTime = Date.now();
      try {
        return await context.with(within, () => next(input));
      } catch (thrown) {
        if (wasSpared(thrown)) throw thrown;
        const name = `RunActivity:${info.activityType}`;
        const span = tracer.startSpan(name, { startTime }, within);
        const { attempt, activityId } = info;
        span.setAttributes({ 'holdfast.attempt': attempt, temporalActivityId: activityId });
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
        const type = thrown instanceof ApplicationFailure ? thrown.type : undefined;
        span.setAttribute('error.type', type ?? error.name);
        span.end();
        throw thrown;
      }
    },
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
    activity: (activity) => ({
      inbound: calls.has(activity.info.activityType)
        ? withinCall(activity, tracer)
        : new OpenTelemetryActivityInboundInterceptor(activity, { tracer }),
      outbound: new OpenTelemetryActivityOutboundInterceptor(activity),
    }),
    record: (spans) => {
      for (const span of spans) processor.onEnd(readableSpan(span, resource));
    },
    shutdown: () => provider.shutdown(),
  };
}
