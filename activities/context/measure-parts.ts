/** Measures a request in the parts that the core chooses a tier by. */
import type { CompactionConfig } from '../../workflows/core/context/compaction-config';
import type { ContextMeasure } from '../../workflows/core/context/measure';
import type { Message } from '../../workflows/core/message';
import { defined } from '../../workflows/core/json';
import type { MeasuredCall } from '../measure/call-measure';
import { tailStart } from './kept-tail';
import type { RequestMeasure } from '../measure/measure-request';
import { probableTokens } from '../measure/measure-request';
import { requestLimitsOf } from '../providers/request/request-limits';
import { fitsRequest } from './request-fit';
import { placeholderRef, strippedMessage } from './stripped-messages';

/** Measures the parts of a request whose whole was measured. Contract: pure but for `measureMessages`' memory. */
export function measureParts(
  call: MeasuredCall,
  whole: RequestMeasure,
  config: Pick<CompactionConfig, 'keptTail' | 'stripChars'>,
): ContextMeasure {
  const { messages, model } = call.request;
  const { wire } = call.provider;
  const { tokenFactors } = call.input;
  const known = defined({ wire, factors: tokenFactors });
  const tokensOf = (part: readonly Message[]): number => probableTokens(part, known, model);
  const start = tailStart(messages, config.keptTail);
  const old = messages.slice(0, start);
  const stripped = old.map((message) =>
    strippedMessage(message, config.stripChars, placeholderRef),
  );
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

/** The vendor's limit beside the window that a request breaks. */
export function brokenLimit(call: MeasuredCall, whole: RequestMeasure): ContextMeasure['over'] {
  const fit = fitsRequest(whole, {
    windowTokens: Infinity,
    maxOutputTokens: 0,
    limits: requestLimitsOf(call.provider.wire, call.request.model),
  });
  return fit.fits || fit.limit === 'tokens' ? undefined : fit.limit;
}
