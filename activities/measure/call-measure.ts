/** Measures one model call: before it, whether it fits; after it, what the vendor's count teaches. */
import type { AssistantMessage } from '../../workflows/core/message';
import type { CallModelInput, CallModelResult } from '../../workflows/core/model-call/ports';
import type { CountedContext, TokenFactors } from '../../workflows/core/context/token-factors';
import {
  learnFactors,
  totalTextTokens,
  weighTextTokens,
} from '../../workflows/core/context/token-factors';
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

/** Whether a vendor's count of a request can be one (ADR 0047). */
export type CountVerdict =
  | 'believed'
  /** The vendor counts nothing. */
  | 'missing'
  /** More than there can be. */
  | 'too-large'
  /** Less than any tokenizer makes of the request. */
  | 'too-small'
  /** Hardly more, or even less, than the vendor counted before so much was added. */
  | 'not-grown';

/** Judges a vendor's count of a request. Contract: pure. */
export function judgeCount(
  tokens: number,
  { plausible }: Partial<Pick<RequestMeasure, 'plausible'>>,
): CountVerdict {
  if (tokens <= 0) return 'missing';
  if (plausible === undefined) return 'believed';
  const { least, leastGrown, most } = plausible;
  if (tokens > most) return 'too-large';
  if (tokens < least) return 'too-small';
  return tokens < leastGrown ? 'not-grown' : 'believed';
}

/** What a whole reply says about the count. */
type CountedReply = Pick<CallModelResult, 'head' | 'headBefore' | 'usage' | 'contextTokens'>;

/** What the run keeps of the vendor's count, and what it learns from it. */
export interface CallCount {
  readonly estimatedTokens: number;
  readonly counted?: CountedContext;
  readonly tokenFactors?: TokenFactors;
  /** The vendor's count, if it shows that the vendor cuts the request. */
  readonly cutToTokens?: number;
}

/**
 * Sets the vendor's count against the measure.
 *
 * Contract: pure; a count that is missing or cannot be true teaches nothing, and the one before stays.
 */
export function countOfCall(
  call: MeasuredCall,
  measure: RequestMeasure,
  reply: CountedReply,
): CallCount {
  const { contextTokens } = reply;
  const verdict = judgeCount(contextTokens, measure);
  if (verdict !== 'believed') return doubtedCount(call, measure, contextTokens, verdict);
  const isKept = reply.head !== reply.headBefore;
  const requestTokens = Math.max(0, contextTokens - measure.noteTokens);
  const counted: CountedContext = {
    route: call.route,
    messages: call.request.messages.length + (isKept ? 1 : 0),
    tokens: requestTokens + (isKept ? reply.usage.outputTokens : 0),
    requestTokens,
  };
  const tokenFactors = learned(call, measure, contextTokens);
  return {
    estimatedTokens: measure.tokens,
    counted,
    ...defined({ tokenFactors }),
  };
}

/** Tokens of a request below which a low count shows nothing: a server's smallest window has more (ADR 0047). */
const leastCutTokens = 1_000;

/** Counts in a row without growth that show a cut; a single one may come from another tokenizer (ADR 0047). */
const cutDoubts = 2;

function doubtedCount(
  { input, route, request }: MeasuredCall,
  measure: RequestMeasure,
  contextTokens: number,
  verdict: Exclude<CountVerdict, 'believed'>,
): CallCount {
  const { counted: before, tokenFactors } = input;
  const isUsable = before?.route === route && before.messages <= request.messages.length;
  const doubts = (before?.doubts ?? 0) + (verdict === 'not-grown' ? 1 : 0);
  const isCut =
    measure.tokens >= leastCutTokens && (verdict === 'too-small' || doubts >= cutDoubts);
  return {
    estimatedTokens: measure.tokens,
    ...defined({
      tokenFactors,
      counted: isUsable ? ({ ...before, isEarlier: true, doubts } as const) : undefined,
      cutToTokens: isCut && verdict !== 'missing' ? contextTokens : undefined,
    }),
  };
}

/** Below this many tokens the vendor's fixed additions outweigh the text. */
const leastSampleTokens = 64;

/** Share of what was expected below which a sample is rather a request that was cut in part than another tokenizer (ADR 0047). */
const leastLearnedShare = 0.65;

function learned(
  call: MeasuredCall,
  measure: RequestMeasure,
  contextTokens: number,
): TokenFactors | undefined {
  const before =
    call.input.tokenFactors ?? initialTokenFactors(call.provider.wire, call.request.model);
  const billed = contextTokens - measure.countedTokens - measure.newMediaTokens;
  const says = totalTextTokens(measure.newText) >= leastSampleTokens && billed > 0;
  // A server of an unknown API is measured as the most expensive one, until its first sample.
  const isGuess = call.provider.wire === undefined && call.input.tokenFactors === undefined;
  const isDrop = !isGuess && billed < leastLearnedShare * weighTextTokens(measure.newText, before);
  if (!says || isDrop || !isTrustworthy(call, measure)) return call.input.tokenFactors;
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
