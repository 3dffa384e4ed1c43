/** Whether a measured request may be sent, and if not, which limit it breaks. */
import type { RequestLimits } from '../providers/request/request-limits';
import type { RequestMeasure } from '../measure/measure-request';

/** Share of the byte limit that is used: the rest is for headers and JSON punctuation. */
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
      readonly limit: 'tokens' | 'bytes' | 'images' | 'image-bytes' | 'messages';
      readonly measured: number;
      readonly allowed: number;
    };

/** System prompt and note, which are messages on the Chat wire. */
const spareEntries = 2;

/** Contract: pure. Tokens are those of the request and the reply together, as vendors refuse a request that leaves no room for it. */
export function fitsRequest(measure: RequestMeasure, bounds: RequestBounds): RequestFit {
  const { limits: most } = bounds;
  const checks = [
    ['tokens', measure.tokens, bounds.windowTokens - bounds.maxOutputTokens],
    ['bytes', measure.bytes, Math.floor(most.bytes * safetyRatio)],
    ['images', measure.images, most.images],
    ['image-bytes', measure.largestImageBytes, most.imageBytes],
    ['messages', measure.entries + spareEntries, most.messages],
  ] as const;
  const broken = checks.find(([, measured, allowed]) => measured > allowed);
  if (broken === undefined) return { fits: true };
  const [limit, measured, allowed] = broken;
  return { fits: false, limit, measured, allowed };
}
