/** Measures a request in the parts that the core chooses a tier by. */
import type { CompactionConfig } from '../../workflows/core/context/compaction-thresholds';
import type { ContextBounds, ContextMeasure } from '../../workflows/core/context/measure';
import { fitsBounds } from '../../workflows/core/context/measure';
import type { Message } from '../../workflows/core/message';
import { defined } from '../../workflows/core/json';
import { tailStart, placeholderRef, strippedMessage } from './stripped-messages';
import type { MeasuredCall, RequestMeasure } from '../measure/measure-request';
import { probableTokens, tokenFactorsOf } from '../measure/measure-request';
import type { ProviderWire } from '../providers/provider';
import { Context } from '@temporalio/activity';
import type { CallModelInput } from '../../workflows/core/model-call/ports';

/**
 * Checks a measured request against the bounds of its route: whether it is too large to be sent, and its parts, which are
 * measured only above the warning threshold.
 */
export function checkRequest(
  call: MeasuredCall,
  whole: RequestMeasure,
  { bounds }: Pick<CallModelInput, 'bounds'>,
  config: CompactionConfig,
): { readonly parts?: ContextMeasure; readonly isTooLarge: boolean } {
  if (bounds === undefined) return { isTooLarge: false };
  const { maxBytes = Infinity, warnTokens } = bounds;
  const isNear = whole.tokens >= warnTokens || whole.bytes > maxBytes;
  if (!isNear && brokenLimit(whole, call.provider.wire) === undefined) return { isTooLarge: false };
  const parts = measureParts(call, whole, config);
  const isTooLarge = !fitsBounds(parts, bounds);
  logSize(call, parts, bounds, isTooLarge);
  return { parts, isTooLarge };
}

/** Logs a warning at 80 % of the window, once each time that the conversation reaches it (R-CTX-2). */
function logSize(
  { route, input }: MeasuredCall,
  { tokens }: ContextMeasure,
  { warnTokens, windowTokens }: ContextBounds,
  isTooLarge: boolean,
): void {
  const { log } = Context.current();
  const facts = { route, tokens, windowTokens };
  if (isTooLarge) log.info('The request is too large and is compacted first', facts);
  else if ((input.counted?.tokens ?? 0) < warnTokens)
    log.warn('The conversation is close to its window', facts);
}

/** Factor by which a request may turn out larger than it was measured (R-CTX-9). */
const estimateMargin = 1.05;

/** Tokens that the reply may have: the wanted number or what the window leaves, at least the reserve. */
export function outputRoom(
  wantedTokens: number,
  whole: RequestMeasure,
  { bounds }: Pick<CallModelInput, 'bounds'>,
): number {
  if (bounds === undefined) return wantedTokens;
  const left = bounds.windowTokens - Math.ceil(whole.tokens * estimateMargin);
  return Math.min(wantedTokens, Math.max(left, bounds.reserveTokens));
}

/** Measures the parts of a request whose whole was measured. Contract: pure but for the memory of `probableTokens`. */
export function measureParts(
  call: MeasuredCall,
  whole: RequestMeasure,
  config: Pick<CompactionConfig, 'keptTail' | 'stripChars'>,
): ContextMeasure {
  const { messages, model } = call.request;
  const { wire } = call.provider;
  const factors = tokenFactorsOf(wire, model, call.input.tokenFactors);
  const tokensOf = (part: readonly Message[]): number => probableTokens(part, factors);
  const start = tailStart(messages, config.keptTail);
  const old = messages.slice(0, start);
  const stripped = old.map((message) =>
    strippedMessage(message, config.stripChars, placeholderRef),
  );
  return {
    tokens: whole.tokens,
    fixedTokens: whole.fixedTokens,
    tailTokens: tokensOf(messages.slice(start)),
    strippableTokens: Math.max(0, tokensOf(old) - tokensOf(stripped)),
    messages: messages.length,
    bytes: whole.bytes,
    ...defined({ over: brokenLimit(whole, wire) }),
  };
}

const mega = 1024 * 1024;

/**
 * How large a request may be beside its tokens.
 *
 * Source: Anthropic's API overview (32 MB, 100,000 messages); OpenAI's 50 MB, and 2,048 messages on the Chat wire by its own
 * refusal ("Maximum length is 2048").
 */
const limits: Readonly<
  Record<ProviderWire, { readonly bytes: number; readonly messages: number }>
> = {
  anthropic: { bytes: 32 * mega, messages: 100_000 },
  responses: { bytes: 50 * mega, messages: Infinity },
  chat: { bytes: 50 * mega, messages: 2_048 },
};

/** Share of the byte limit that is used; the rest is for headers and JSON punctuation. */
const safetyRatio = 0.97;

/** System prompt and note, which are messages on the Chat wire. */
const spareEntries = 2;

/**
 * The vendor's limit, other than the window, that a request exceeds; undefined if it exceeds none. A provider that does not say
 * which wire it speaks has the limits of the strictest one.
 */
export function brokenLimit(
  { bytes, entries }: Pick<RequestMeasure, 'bytes' | 'entries'>,
  wire: ProviderWire = 'anthropic',
): ContextMeasure['over'] {
  if (bytes > Math.floor(limits[wire].bytes * safetyRatio)) return 'bytes';
  return entries + spareEntries > limits[wire].messages ? 'messages' : undefined;
}
