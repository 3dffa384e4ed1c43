/** The spans of a run by the GenAI conventions: each model call and each tool call, from the facts of its history. */
import type { RunStep } from '../../workflows/run-observer';
import type { CallModelResult, StopReason } from '../../workflows/core/model-call/ports';
import type { RunCommand } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import type { SpanAttributes, SpanRecord } from './step-report';
import type { TraceContext } from './trace-context';

/** Names of the conventions for providers that Holdfast's users mostly call otherwise; every other name stays. */
const providerNames: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  kimi: 'moonshot_ai',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
};

/** Finish reasons as the conventions' message format has them; a pause has no word there. */
const finishReasons: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  'tool-use': 'tool_call',
  truncated: 'length',
  'context-full': 'length',
  refusal: 'content_filter',
  filtered: 'content_filter',
  pause: 'pause',
};

/** A call in flight. */
type OpenSpan = Pick<SpanRecord, 'spanId' | 'name' | 'kind' | 'startMs' | 'attributes'>;

/** How a call ended. */
interface CallEnd {
  readonly attributes?: SpanAttributes;
  /** A code of Holdfast's, and what people read. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}

/** The agent that acts. */
export function actingAgent({ snapshot, request }: RunState): string {
  return snapshot?.agent ?? request.agent;
}

/** The provider of the run's last route, or of its first one; the conventions demand a name. */
export function providerOf({ snapshot, lastRouteIndex = 0 }: RunState): string {
  const provider = snapshot?.chain[lastRouteIndex]?.provider ?? 'unknown';
  return providerNames[provider] ?? provider;
}

/** What the reply says. `usd`: of it and its failed attempts, as the timeline has them. */
function replyAttributes({ usage, stopReason }: CallModelResult, usd?: number): SpanAttributes {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const attributes = {
    'gen_ai.response.finish_reasons': [finishReasons[stopReason]],
    // The conventions count cached tokens among the input.
    'gen_ai.usage.input_tokens': inputTokens + cacheReadTokens + cacheWriteTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens,
  };
  return usd === undefined ? attributes : { ...attributes, 'gen_ai.usage.cost': usd };
}

function usdOf(commands: readonly RunCommand[]): number | undefined {
  for (const command of commands)
    if (command.type === 'publish' && command.entry.type === 'ModelRepliedEvent')
      return command.entry.usd;
  return undefined;
}

/** What the step's event ended: the call's name, and how; undefined if it ended none. */
function endIn({
  event,
  decided: [, commands],
}: RunStep): readonly [call: string, end: CallEnd | undefined] | undefined {
  if (event.type === 'model-call-completed') {
    const { error } = event.result;
    return [event.callId, { attributes: replyAttributes(event.result, usdOf(commands)), error }];
  }
  // Nothing was sent.
  if (event.type === 'model-call-held-back') return [event.callId, undefined];
  if (event.type === 'model-call-failed') {
    const { failure } = event;
    return [event.callId, failure.spared === true ? undefined : { error: failure }];
  }
  if (event.type === 'tool-call-failed') return [event.toolCallId, { error: event.failure }];
  if (event.type !== 'tool-call-completed' || event.result.work !== undefined) return undefined;
  return [event.toolCallId, { error: event.result.error }];
}

/** The span that a command begins, with the name of its call; undefined if it begins none. */
function beginningIn(
  command: RunCommand,
  { decided: [state], event: { atMs: startMs } }: RunStep,
  runId: string,
): readonly [call: string, span: Omit<OpenSpan, 'spanId'>] | undefined {
  if (command.type !== 'call-model' && command.type !== 'run-tool') return undefined;
  const common = {
    'gen_ai.conversation.id': runId,
    'gen_ai.agent.name': actingAgent(state),
    'holdfast.iteration': state.counters.iterations,
  };
  if (command.type === 'run-tool') {
    const { name } = command.input;
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': command.toolCallId,
      'gen_ai.tool.type': 'function',
      ...common,
    };
    const span = { name: `execute_tool ${name}`, kind: 'internal', startMs, attributes } as const;
    return [command.toolCallId, span];
  }
  const model = state.snapshot?.chain[command.input.routeIndex]?.model ?? '';
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': providerOf(state),
    'gen_ai.request.model': model,
    'gen_ai.request.stream': true,
    ...common,
  };
  return [command.callId, { name: `chat ${model}`, kind: 'client', startMs, attributes }];
}

/** The spans of a run. */
export interface RunSpans {
  /** The spans that a step ended. Contract: a call whose end the workflow run does not see gives none. */
  take(step: RunStep): readonly SpanRecord[];
  /** The span of a call in flight, by the activity id of a model call or the id of a tool call. */
  spanIdOf(call: string): string | undefined;
}

/** Makes what follows a run. */
export function createRunSpans(trace: TraceContext, runId: string): RunSpans {
  const open = new Map<string, OpenSpan>();

  function end(call: string, ended: CallEnd | undefined, endMs: number): readonly SpanRecord[] {
    const span = open.get(call);
    open.delete(call);
    if (span === undefined || ended === undefined) return [];
    const { traceId, spanId: parentSpanId } = trace;
    const { error } = ended;
    const attributes = { ...span.attributes, ...ended.attributes };
    const record = { ...span, traceId, parentSpanId, endMs, attributes };
    if (error === undefined) return [record];
    return [
      {
        ...record,
        attributes: { ...attributes, 'error.type': error.code },
        error: error.message,
      },
    ];
  }

  return {
    take: (step) => {
      const ended = endIn(step);
      const spans = ended === undefined ? [] : end(...ended, step.event.atMs);
      for (const command of step.decided[1]) {
        const began = beginningIn(command, step, runId);
        // A tool call may take two activities (ADR 0058).
        if (began === undefined || open.has(began[0])) continue;
        open.set(began[0], { ...began[1], spanId: trace.nextSpanId() });
      }
      return spans;
    },
    spanIdOf: (call) => open.get(call)?.spanId,
  };
}
