/**
 * Bundled with the workflows where telemetry is on. Passes the trace on as Temporal's own interceptors do, without
 * OpenTelemetry's SDK in the sandbox (ADR 0068), and reports what each run does.
 */
import type {
  WorkflowExecuteInput,
  WorkflowInboundCallsInterceptor,
  WorkflowInterceptors,
  WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow';
import { ContinueAsNew, proxySinks, workflowInfo } from '@temporalio/workflow';
import { agentRunWorkflow } from '../../workflows/contract';
import type { RunState } from '../../workflows/core/run/state';
import { observeRun } from '../../workflows/run-observer';
import { GatheredReports, isAtWork } from './gathered-reports';
import { logStep } from './run-log';
import { countsOf } from './run-metrics';
import type { RunSpans } from './run-spans';
import { actingAgent, createRunSpans, providerOf } from './run-spans';
import type { SpanAttributes, SpanRecord, TelemetrySinks } from './step-report';
import type { TraceContext } from './trace-context';
import { traceContextOf } from './trace-context';

/** What is known of one workflow run. The module itself keeps nothing: all runs of a worker share it. */
interface SeenRun {
  trace?: TraceContext;
  readonly reports: GatheredReports;
  lastState?: RunState;
  spans?: RunSpans;
}

const { holdfastTelemetry } = proxySinks<TelemetrySinks>();

/** Follows an agent's run from its first step. */
function follow(seen: SeenRun, context: TraceContext): void {
  const { workflowId } = workflowInfo();
  const spans = context.isSampled ? createRunSpans(context, workflowId) : undefined;
  if (spans !== undefined) seen.spans = spans;
  observeRun((step) => {
    seen.lastState = step.decided[0];
    const report = { spans: spans?.take(step) ?? [], counts: countsOf(step) };
    seen.reports.take(report, step.event.atMs, isAtWork(step));
    logStep(step);
  });
}

/** The span's name and what it says of the run; another workflow's has the name that Temporal's interceptors give it. */
function describedRun(state: RunState | undefined): Pick<SpanRecord, 'name' | 'attributes'> {
  const { workflowId, runId, workflowType, taskQueue, namespace } = workflowInfo();
  const ids: SpanAttributes = {
    ...{ temporalWorkflowId: workflowId, run_id: runId },
    ...{ 'holdfast.task_queue': taskQueue, 'holdfast.namespace': namespace },
  };
  if (state === undefined) return { name: `RunWorkflow:${workflowType}`, attributes: ids };
  const { iterations, segments, failovers } = state.counters;
  const { phase } = state;
  return {
    name: `invoke_agent ${actingAgent(state)}`,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': providerOf(state),
      'gen_ai.agent.name': actingAgent(state),
      'gen_ai.conversation.id': workflowId,
      'holdfast.run.iterations': iterations,
      'holdfast.run.segment': segments,
      'holdfast.run.failovers': failovers,
      'holdfast.run.status': phase.type === 'ended' ? phase.outcome.status : 'rolled-over',
      ...ids,
    },
  };
}

function endRun(
  { lastState, reports }: SeenRun,
  context: TraceContext,
  startMs: number,
  thrown?: unknown,
): void {
  const { traceId, spanId, parentSpanId } = context;
  const { name, attributes } = describedRun(lastState);
  const failed = thrown !== undefined && !(thrown instanceof ContinueAsNew);
  const outcome = lastState?.phase.type === 'ended' ? lastState.phase.outcome : undefined;
  const code = outcome?.status === 'failed' ? outcome.reason : (outcome?.status ?? '_OTHER');
  const span: SpanRecord = {
    ...{ traceId, spanId, name, kind: 'internal', startMs, endMs: Date.now() },
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    attributes: failed ? { ...attributes, 'error.type': code } : attributes,
    ...(failed
      ? { error: thrown instanceof Error ? thrown.message : 'an error of another kind' }
      : {}),
  };
  reports.take({ spans: [span], counts: [] }, span.endMs, false);
}

const inboundOf = (seen: SeenRun): WorkflowInboundCallsInterceptor => ({
  async execute({ headers, ...input }: WorkflowExecuteInput, next): Promise<unknown> {
    const context = traceContextOf(workflowInfo(), headers);
    const startMs = Date.now();
    seen.trace = context;
    if (workflowInfo().workflowType === agentRunWorkflow) follow(seen, context);
    try {
      const result = await next({ ...input, headers });
      if (context.isSampled) endRun(seen, context, startMs);
      return result;
    } catch (thrown) {
      if (context.isSampled) endRun(seen, context, startMs, thrown);
      throw thrown;
    }
  },
});

/** The span that an activity is part of: that of its model call or tool call, else that of the run. */
function spanOfActivity(
  { spans }: SeenRun,
  activityType: string,
  [input]: readonly unknown[],
  activityId?: string,
): string | undefined {
  if (activityType === 'callModel') return spans?.spanIdOf(activityId ?? '');
  if (activityType !== 'runTool') return undefined;
  return spans?.spanIdOf((input as { readonly toolCallId: string }).toolCallId);
}

// Without async functions: what is started, and in which order, is as without telemetry.
const outboundOf = (seen: SeenRun): WorkflowOutboundCallsInterceptor => ({
  scheduleActivity: ({ headers, ...input }, next) => {
    const { activityType, args, options } = input;
    const span = spanOfActivity(seen, activityType, args, options.activityId);
    return next({ ...input, headers: seen.trace?.withHeader(headers, span) ?? headers });
  },
  scheduleLocalActivity: ({ headers, ...input }, next) => {
    const span = spanOfActivity(seen, input.activityType, input.args);
    return next({ ...input, headers: seen.trace?.withHeader(headers, span) ?? headers });
  },
  startChildWorkflowExecution: ({ headers, ...input }, next) =>
    next({ ...input, headers: seen.trace?.withHeader(headers) ?? headers }),
  continueAsNew: ({ headers, ...input }, next) =>
    next({ ...input, headers: seen.trace?.withHeader(headers) ?? headers }),
  signalWorkflow: ({ headers, ...input }, next) =>
    next({ ...input, headers: seen.trace?.withHeader(headers) ?? headers }),
  startNexusOperation: ({ headers, ...input }, next) =>
    next({ ...input, headers: { ...headers, ...seen.trace?.carrier } }),
  getLogAttributes: (input, next) => {
    const { trace } = seen;
    return next(
      trace === undefined ? input : { trace_id: trace.traceId, span_id: trace.spanId, ...input },
    );
  },
});

/** What the SDK calls for each workflow run. */
export const interceptors = (): WorkflowInterceptors => {
  const seen: SeenRun = {
    reports: new GatheredReports((report) => {
      holdfastTelemetry.report(report);
    }),
  };
  return { inbound: [inboundOf(seen)], outbound: [outboundOf(seen)] };
};
