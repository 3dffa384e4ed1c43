/** Whether a measured request is sent, and how long its reply may be. */
import { Context } from '@temporalio/activity';
import type { CompactionConfig } from '../../workflows/core/context/compaction-config';
import type { ContextBounds, ContextMeasure } from '../../workflows/core/context/measure';
import { fitsBounds } from '../../workflows/core/context/measure';
import type { CallModelInput } from '../../workflows/core/model-call/ports';
import type { MeasuredCall } from '../measure/call-measure';
import type { RequestMeasure } from '../measure/measure-request';
import { brokenLimit, measureParts } from './measure-parts';

/** A request's parts, and whether it is too large to be sent. */
export interface CheckedRequest {
  /** Only from the warning threshold on. */
  readonly parts?: ContextMeasure;
  readonly isTooLarge: boolean;
}

/** Checks a measured request against the bounds of its route. */
export function checkRequest(
  call: MeasuredCall,
  whole: RequestMeasure,
  { bounds }: Pick<CallModelInput, 'bounds'>,
  config: CompactionConfig,
): CheckedRequest {
  if (bounds === undefined) return { isTooLarge: false };
  const { maxBytes = Infinity, warnTokens } = bounds;
  const isNear = whole.tokens >= warnTokens || whole.bytes > maxBytes;
  if (!isNear && brokenLimit(call, whole) === undefined) return { isTooLarge: false };
  const parts = measureParts(call, whole, config);
  const isTooLarge = !fitsBounds(parts, bounds);
  tellSize(call, parts, bounds, isTooLarge);
  return { parts, isTooLarge };
}

/** Logs a warning at 80 % of the window, once each time that the conversation reaches it (R-CTX-2). */
function tellSize(
  { route, input }: MeasuredCall,
  { tokens }: ContextMeasure,
  { warnTokens, windowTokens }: ContextBounds,
  isTooLarge: boolean,
): void {
  const { log } = Context.current();
  const facts = { route, tokens, windowTokens };
  if (isTooLarge) log.info('The request is too large and is compacted first', facts);
  else if ((input.counted?.tokens ?? 0) < warnTokens)
    log.warn('The conversation nears its window', facts);
}

/** Factor by which a request may turn out larger than it was measured (R-CTX-9). */
const estimateMargin = 1.05;

/** Tokens that the reply may have: what is wanted, or what the window leaves, and never less than the reserve. */
export function outputRoom(
  wantedTokens: number,
  whole: RequestMeasure,
  { bounds }: Pick<CallModelInput, 'bounds'>,
): number {
  if (bounds === undefined) return wantedTokens;
  const left = bounds.windowTokens - Math.ceil(whole.tokens * estimateMargin);
  return Math.min(wantedTokens, Math.max(left, bounds.reserveTokens));
}
