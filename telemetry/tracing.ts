/** Traces: OpenTelemetry's SDK in the worker's process. Loaded only where they are wanted. */
import type { Context, HrTime, SpanContext, Tracer } from '@opentelemetry/api';
import {
  context,
  createTraceState,
  isSpanContextValid,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
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
import type { ActivityInterceptors, ActivityInterceptorsFactory } from '@temporalio/worker';
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

/** The call's span, as the workflow sent it. The workflow's headers hold no more than this form of W3C Trace Context. */
function callIn(headers: Headers): SpanContext | undefined {
  const payload = headers['_tracer-data'];
  if (payload === undefined) return undefined;
  const { traceparent = '', tracestate } = defaultPayloadConverter.fromPayload<{
    readonly traceparent?: string;
    readonly tracestate?: string;
  }>(payload);
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  const span = {
    ...{ traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true },
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(span) ? span : undefined;
}

/** Whether no request was sent, so that the call has no span. */
function wasSpared(thrown: unknown): boolean {
  const [failure] = thrown instanceof ApplicationFailure ? (thrown.details ?? []) : [];
  return (failure as { readonly spared?: true } | undefined)?.spared === true;
}

/** A span of its own for an attempt that failed, named as Temporal's interceptor would: the call has only the end of the last one. */
function recordFailed(
  { info: { activityType, attempt, activityId } }: ActivityContext,
  tracer: Tracer,
  { thrown, within, startTime }: { thrown: unknown; within: Context; startTime: number },
): void {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const span = tracer.startSpan(`RunActivity:${activityType}`, { startTime }, within);
  span.setAttributes({
    'holdfast.attempt': attempt,
    temporalActivityId: activityId,
    'error.type': (thrown instanceof ApplicationFailure ? thrown.type : undefined) ?? error.name,
  });
  span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  span.end();
}

/** Runs an attempt of a call within the call's span, whose ids its log lines get. */
function withinCall(activity: ActivityContext, tracer: Tracer): ActivityInterceptors {
  let ids = {};
  return {
    inbound: {
      execute: async (input, next) => {
        const call = callIn(input.headers);
        if (call === undefined) return next(input);
        ids = { trace_id: call.traceId, span_id: call.spanId };
        const within = trace.setSpanContext(context.active(), call);
        const startTime = Date.now();
        try {
          return await context.with(within, next, undefined, input);
        } catch (thrown) {
          if (!wasSpared(thrown)) recordFailed(activity, tracer, { thrown, within, startTime });
          throw thrown;
        }
      },
    },
    outbound: { getLogAttributes: (input, next) => next({ ...ids, ...input }) },
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
    activity: (activity) =>
      calls.has(activity.info.activityType)
        ? withinCall(activity, tracer)
        : {
            inbound: new OpenTelemetryActivityInboundInterceptor(activity, { tracer }),
            outbound: new OpenTelemetryActivityOutboundInterceptor(activity),
          },
    record: (spans) => {
      for (const span of spans) processor.onEnd(readableSpan(span, resource));
    },
    shutdown: () => provider.shutdown(),
  };
}
