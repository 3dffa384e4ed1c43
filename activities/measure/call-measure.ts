/** Measures one model call: before it, whether it fits; after it, what the vendor's count teaches. */
import type { AssistantMessage } from '../../workflows/core/message';
import type { CallModelInput, CallModelResult } from '../../workflows/core/model-call/ports';
import type { CountedContext, TokenFactors } from '../../workflows/core/context/token-factors';
import { learnFactors, totalTextTokens } from '../../workflows/core/context/token-factors';
import { defined } from '../../workflows/core/json';
import type { ModelRequest, Provider } from '../providers/provider';
import type { RequestMeasure } from './measure-request';
import { initialTokenFactors, measureRequest } from './measure-request';

/** A call's request in neutral form, and its target. */
export interface MeasuredCall {
  /** `messages` is the transcript itself, even if the text tool protocol sends another form of it. */
  readonly request: ModelRequest;
  readonly route: string;
  readonly provider: Pick<Provider, 'wire'>;
  readonly input: Pick<CallModelInput, 'counted' | 'tokenFactors'>;
}

/** Measures the request of a call. Contract: as `measureRequest`. */
export function measureCall(call: MeasuredCall): RequestMeasure {
  const { counted, tokenFactors } = call.input;
  const { wire } = call.provider;
  return measureRequest(call.request, {
    route: call.route,
    ...defined({ wire, counted, factors: tokenFactors }),
  });
}

/** What a whole reply says about the count. */
type CountedReply = Pick<CallModelResult, 'head' | 'headBefore' | 'usage' | 'contextTokens'>;

/** What the run keeps of the vendor's count, and what it learns from it. */
export interface CallCount {
  readonly estimatedTokens: number;
  readonly counted?: CountedContext;
  readonly tokenFactors?: TokenFactors;
}

/**
 * Sets the vendor's count against the measure.
 *
 * Contract: pure; a vendor that counts nothing teaches nothing.
 */
export function countOfCall(
  call: MeasuredCall,
  measure: RequestMeasure,
  reply: CountedReply,
): CallCount {
  const { contextTokens } = reply;
  if (contextTokens <= 0) return { estimatedTokens: measure.tokens };
  const isKept = reply.head !== reply.headBefore;
  const counted: CountedContext = {
    route: call.route,
    messages: call.request.messages.length + (isKept ? 1 : 0),
    tokens: Math.max(
      0,
      contextTokens - measure.noteTokens + (isKept ? reply.usage.outputTokens : 0),
    ),
  };
  const tokenFactors = learned(call, measure, contextTokens);
  return {
    estimatedTokens: measure.tokens,
    counted,
    ...defined({ tokenFactors }),
  };
}

/** Below this many tokens the vendor's fixed additions outweigh the text. */
const leastSampleTokens = 64;

function learned(
  call: MeasuredCall,
  measure: RequestMeasure,
  contextTokens: number,
): TokenFactors | undefined {
  const before =
    call.input.tokenFactors ?? initialTokenFactors(call.provider.wire, call.request.model);
  const billed = contextTokens - measure.countedTokens - measure.newImageTokens;
  const says = totalTextTokens(measure.newText) >= leastSampleTokens && billed > 0;
  if (!says || !isTrustworthy(call, measure)) return call.input.tokenFactors;
  return learnFactors(before, measure.newText, billed);
}

/**
 * A vendor may or may not count returned reasoning again. If the counted reply has reasoning, the rest is comparable only if it
 * is much larger.
 */
function isTrustworthy(call: MeasuredCall, measure: RequestMeasure): boolean {
  if (measure.countedTokens === 0) return true;
  const reply = call.request.messages[(call.input.counted?.messages ?? 0) - 1];
  const thoughtCharacters = reply?.role === 'assistant' ? thoughtLength(reply) : 0;
  return thoughtCharacters === 0 || thoughtCharacters < totalTextTokens(measure.newText) / 2;
}

function thoughtLength(message: AssistantMessage): number {
  return message.blocks.reduce(
    (length, block) =>
      block.type === 'reasoning'
        ? length + block.text.length + JSON.stringify(block.opaque ?? {}).length
        : length,
    0,
  );
}
