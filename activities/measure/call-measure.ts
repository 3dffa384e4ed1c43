/** What the vendor's count of a call teaches. */
import type { CallModelResult } from '../../workflows/core/model-call/ports';
import type { TokenFactors } from '../../workflows/core/context/token-factors';
import { learnFactors, totalTextTokens } from '../../workflows/core/context/token-factors';
import { defined } from '../../workflows/core/json';
import type { MeasuredCall, RequestMeasure } from './measure-request';
import { tokenFactorsOf } from './measure-request';

/**
 * Sets the vendor's count of a whole reply against the measure: what the run keeps of it, and what it learns.
 *
 * Contract: pure; a vendor that counts nothing teaches nothing.
 */
export function countOfCall(
  call: MeasuredCall,
  measure: RequestMeasure,
  reply: Pick<CallModelResult, 'head' | 'headBefore' | 'usage' | 'contextTokens'>,
): Pick<CallModelResult, 'estimatedTokens' | 'counted' | 'tokenFactors'> {
  const estimatedTokens = measure.tokens;
  const { contextTokens } = reply;
  if (contextTokens <= 0) return { estimatedTokens };
  const isKept = reply.head !== reply.headBefore;
  const replyTokens = isKept ? reply.usage.outputTokens : 0;
  const counted = {
    route: call.route,
    messages: call.request.messages.length + (isKept ? 1 : 0),
    tokens: Math.max(0, contextTokens - measure.noteTokens + replyTokens),
  };
  const tokenFactors = learned(call, measure, contextTokens);
  return { estimatedTokens, counted, ...defined({ tokenFactors }) };
}

/** Below this many tokens the vendor's fixed additions outweigh the text. */
const leastSampleTokens = 64;

function learned(
  call: MeasuredCall,
  measure: RequestMeasure,
  contextTokens: number,
): TokenFactors | undefined {
  const { tokenFactors } = call.input;
  const before = tokenFactorsOf(call.provider.wire, call.request.model, tokenFactors);
  const billed = contextTokens - measure.countedTokens;
  const says = totalTextTokens(measure.newText) >= leastSampleTokens && billed > 0;
  if (!says || !isTrustworthy(call, measure)) return tokenFactors;
  return learnFactors(before, measure.newText, billed);
}

/**
 * A vendor may or may not count returned reasoning again. If the counted reply has reasoning, the rest is comparable only if it
 * is much larger.
 */
function isTrustworthy(call: MeasuredCall, measure: RequestMeasure): boolean {
  if (measure.countedTokens === 0) return true;
  const reply = call.request.messages[(call.input.counted?.messages ?? 0) - 1];
  if (reply?.role !== 'assistant') return true;
  const thoughts = reply.blocks.filter((block) => block.type === 'reasoning');
  const characters = thoughts
    .map(({ text, opaque = {} }) => text.length + JSON.stringify(opaque).length)
    .reduce((sum, length) => sum + length, 0);
  return characters === 0 || characters < totalTextTokens(measure.newText) / 2;
}
