/** Measures a request in the parts that the core chooses a tier by. */
import type { CompactionConfig } from '../../workflows/core/context/compaction-thresholds';
import type { ContextBounds, ContextMeasure } from '../../workflows/core/context/measure';
import { fitsBounds } from '../../workflows/core/context/measure';
import type { Message } from '../../workflows/core/message';
import { defined } from '../../workflows/core/json';
import type { MeasuredCall } from '../measure/call-measure';
import { tailStart, placeholderRef, strippedMessage } from './stripped-messages';
import type { RequestMeasure } from '../measure/measure-request';
import { probableTokens } from '../measure/measure-request';
import { sendableMedia } from '../providers/request/sendable-media';
import type { RequestLimits } from '../providers/request/request-limits';
import { requestLimitsOf } from '../providers/request/request-limits';
import { Context } from '@temporalio/activity';

/** A request's parts, and whether it is too large to be sent. */
export interface CheckedRequest {
  /** Only above the warning threshold. */
  readonly parts?: ContextMeasure;
  readonly isTooLarge: boolean;
}

/** Checks a measured request against the bounds of its route. */
export function checkRequest(
  call: MeasuredCall,
  whole: RequestMeasure,
  bounds: ContextBounds,
  config: CompactionConfig,
): CheckedRequest {
  const { maxBytes = Infinity, warnTokens } = bounds;
  const isNear = whole.tokens >= warnTokens || whole.bytes > maxBytes;
  if (!isNear && brokenLimit(call, whole) === undefined) return { isTooLarge: false };
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
  bounds: ContextBounds,
): number {
  const left = bounds.windowTokens - Math.ceil(whole.tokens * estimateMargin);
  return Math.min(wantedTokens, Math.max(left, bounds.reserveTokens));
}

/** Share of the byte limit that is used; the rest is for headers and JSON punctuation. */
const safetyRatio = 0.97;

/** What a request is measured against. */
export interface RequestBounds {
  readonly windowTokens: number;
  /** Tokens kept free for the reply. */
  readonly maxOutputTokens: number;
  readonly limits: RequestLimits;
}

/** Whether a request may be sent, and if not, which limit it breaks first and by how much. */
export type RequestFit =
  | { readonly fits: true }
  | {
      readonly fits: false;
      readonly limit: 'tokens' | 'bytes' | 'images' | 'image-bytes' | 'pages' | 'messages';
      readonly measured: number;
      readonly allowed: number;
    };

/** System prompt and note, which are messages on the Chat wire. */
const spareEntries = 2;

/** Contract: pure. Tokens count request and reply, because vendors refuse a request that leaves no room for the reply. */
export function fitsRequest(measure: RequestMeasure, bounds: RequestBounds): RequestFit {
  const { limits: most } = bounds;
  const checks = [
    ['tokens', measure.tokens, bounds.windowTokens - bounds.maxOutputTokens],
    ['bytes', measure.bytes, Math.floor(most.bytes * safetyRatio)],
    ['images', measure.images, most.images],
    ['image-bytes', measure.largestImageBytes, most.imageBytes],
    ['pages', measure.pages, most.pages],
    ['messages', measure.entries + spareEntries, most.messages],
  ] as const;
  const broken = checks.find(([, measured, allowed]) => measured > allowed);
  if (broken === undefined) return { fits: true };
  const [limit, measured, allowed] = broken;
  return { fits: false, limit, measured, allowed };
}

/** The shape that a message had last when it was stripped, and from how many characters on. */
const lastStripped = new WeakMap<Message, { readonly from: number; readonly shape: Message }>();

/** A stripped message, to be measured: the same object each time. */
function strippedShape(message: Message, stripChars: number): Message {
  const known = lastStripped.get(message);
  if (known?.from === stripChars) return known.shape;
  const shape = strippedMessage(message, stripChars, placeholderRef);
  lastStripped.set(message, { from: stripChars, shape });
  return shape;
}

/** Measures the parts of a request whose whole was measured. Contract: pure. */
export function measureParts(
  call: MeasuredCall,
  whole: RequestMeasure,
  config: Pick<CompactionConfig, 'keptTail' | 'stripChars'>,
): ContextMeasure {
  const { model } = call.request;
  const { wire } = call.provider;
  const messages = sendableMedia(call.request, wire ?? 'anthropic');
  const { tokenFactors } = call.input;
  const known = defined({ wire, factors: tokenFactors });
  const tokensOf = (part: readonly Message[]): number => probableTokens(part, known, model);
  const start = tailStart(messages, config.keptTail);
  const old = messages.slice(0, start);
  const stripped = old.map((message) => strippedShape(message, config.stripChars));
  const over = brokenLimit(call, whole);
  return {
    tokens: whole.tokens,
    fixedTokens: whole.fixedTokens,
    tailTokens: tokensOf(messages.slice(start)),
    strippableTokens: Math.max(0, tokensOf(old) - tokensOf(stripped)),
    messages: messages.length,
    bytes: whole.bytes,
    images: whole.images,
    ...defined({ over }),
  };
}

/** The vendor's limit, other than the window, that a request exceeds; undefined if it exceeds none. */
function brokenLimit(call: MeasuredCall, whole: RequestMeasure): ContextMeasure['over'] {
  const fit = fitsRequest(whole, {
    windowTokens: Infinity,
    maxOutputTokens: 0,
    limits: requestLimitsOf(call.provider.wire, call.request.model),
  });
  return fit.fits || fit.limit === 'tokens' ? undefined : fit.limit;
}
