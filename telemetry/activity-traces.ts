/** Traces of activities: each attempt's code runs within the span of its call, or within one of its own. */
import type { Context as OtelContext, Span, SpanContext, Tracer } from '@opentelemetry/api';
import {
  context,
  createTraceState,
  isSpanContextValid,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Context as ActivityContext } from '@temporalio/activity';
import { CompleteAsyncError } from '@temporalio/activity';
import type { Headers } from '@temporalio/common';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';

/** Activities whose call has a span of the workflow's. */
const calls: ReadonlySet<string> = new Set(['callModel', 'runTool']);

/** The span that asked for an activity: of a call, or of the workflow run. The headers hold no more than this form of W3C Trace Context. */
function senderIn(headers: Headers): SpanContext | undefined {
  const payload = headers['_tracer-data'];
  if (payload === undefined) return undefined;
  // JSON, as the payload converter would read it; but that looks for the encoding first, and this is done for each activity.
  const { traceparent = '', tracestate } = JSON.parse(
    Buffer.from(payload.data ?? []).toString(),
  ) as { readonly traceparent?: string; readonly tracestate?: string };
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

/** Begins the span of an attempt, with the name and attributes that Temporal's own interceptor gives it. */
function startSpan(
  { info: { activityType, activityId, attempt, workflowExecution } }: ActivityContext,
  tracer: Tracer,
  { within, startTime }: { readonly within: OtelContext; readonly startTime: number },
): Span {
  const run = workflowExecution && {
    temporalWorkflowId: workflowExecution.workflowId,
    run_id: workflowExecution.runId,
  };
  const attributes = { 'holdfast.attempt': attempt, temporalActivityId: activityId, ...run };
  return tracer.startSpan(`RunActivity:${activityType}`, { startTime, attributes }, within);
}

/** Whether it is no failure: somebody else will complete the activity, or its code says that this was to be expected. */
function isExpected(thrown: unknown): boolean {
  if (thrown instanceof CompleteAsyncError) return true;
  return (
    thrown instanceof ApplicationFailure && thrown.category === ApplicationFailureCategory.BENIGN
  );
}

/** Ends the span of an attempt that threw. */
function endFailed(span: Span, thrown: unknown): void {
  if (!isExpected(thrown)) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const type = thrown instanceof ApplicationFailure ? thrown.type : undefined;
    span.setAttribute('error.type', type ?? error.name);
    span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  }
  span.end();
}

/** An attempt in its trace. */
interface Attempt {
  readonly within: OtelContext;
  /** The span that log lines name. */
  readonly span: SpanContext;
  end(): void;
  fail(thrown: unknown): void;
}

/** Undefined: nothing is traced. */
function beginAttempt(
  activity: ActivityContext,
  tracer: Tracer,
  headers: Headers,
): Attempt | undefined {
  const sender = senderIn(headers);
  const outside = context.active();
  const within = sender === undefined ? outside : trace.setSpanContext(outside, sender);
  const startTime = Date.now();
  if (!calls.has(activity.info.activityType)) {
    const span = startSpan(activity, tracer, { within, startTime });
    return {
      within: trace.setSpan(within, span),
      span: span.spanContext(),
      end: () => {
        span.end();
      },
      fail: (thrown) => {
        if (thrown instanceof Error && !isExpected(thrown)) span.recordException(thrown);
        endFailed(span, thrown);
      },
    };
  }
  return (
    sender && {
      within,
      span: sender,
      end: () => undefined,
      // The call's own span has only the end of the last attempt.
      fail: (thrown) => {
        if (!wasSpared(thrown))
          endFailed(startSpan(activity, tracer, { within, startTime }), thrown);
      },
    }
  );
}

/**
 * Runs an activity's code within its span, whose ids its log lines get: that of its call, which the workflow makes, else one of
 * its own.
 */
export function inTrace(activity: ActivityContext, tracer: Tracer): ActivityInterceptors {
  let ids = {};
  return {
    inbound: {
      execute: async (input, next) => {
        const attempt = beginAttempt(activity, tracer, input.headers);
        if (attempt === undefined) return next(input);
        const { within, span } = attempt;
        ids = { trace_id: span.traceId, span_id: span.spanId };
        try {
          const result = await context.with(within, next, undefined, input);
          attempt.end();
          return result;
        } catch (thrown) {
          attempt.fail(thrown);
          throw thrown;
        }
      },
    },
    outbound: { getLogAttributes: (input, next) => next({ ...ids, ...input }) },
  };
}
