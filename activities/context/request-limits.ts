/** How large a request may be beyond its tokens, by vendor, and which limit a measured request breaks. */
import type { ProviderWire } from '../providers/provider';
import type { RequestMeasure } from './measure-request';

/** What one request of a provider may hold. */
export interface RequestLimits {
  /** Bytes of the whole body. */
  readonly bytes: number;
  readonly images: number;
  /** Bytes of one image's base64 text. */
  readonly imageBytes: number;
}

/** Bytes that headers and JSON's own marks may add to what was measured. */
const safetyRatio = 0.97;

/** Source: Anthropic's API overview (32 MB) and vision guide (100 images, 5 MB each); OpenAI's images guide (50 MB, 500 images). */
const limits: Readonly<Record<ProviderWire, RequestLimits>> = {
  anthropic: { bytes: 32 * 1024 * 1024, images: 100, imageBytes: 5 * 1024 * 1024 },
  responses: { bytes: 50 * 1024 * 1024, images: 500, imageBytes: 50 * 1024 * 1024 },
  chat: { bytes: 50 * 1024 * 1024, images: 500, imageBytes: 50 * 1024 * 1024 },
};

/** Limits of a wire; those of the strictest one where the provider does not say which it speaks. */
export function requestLimitsOf(wire: ProviderWire | undefined): RequestLimits {
  return limits[wire ?? 'anthropic'];
}

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
      readonly limit: 'tokens' | 'bytes' | 'images' | 'image-bytes';
      readonly measured: number;
      readonly allowed: number;
    };

/** Contract: pure. Tokens are those of the request and the reply together, as vendors refuse a request that leaves no room for it. */
export function fitsRequest(measure: RequestMeasure, bounds: RequestBounds): RequestFit {
  const { limits: most } = bounds;
  const checks = [
    ['tokens', measure.tokens, bounds.windowTokens - bounds.maxOutputTokens],
    ['bytes', measure.bytes, Math.floor(most.bytes * safetyRatio)],
    ['images', measure.images, most.images],
    ['image-bytes', measure.largestImageBytes, most.imageBytes],
  ] as const;
  const broken = checks.find(([, measured, allowed]) => measured > allowed);
  if (broken === undefined) return { fits: true };
  const [limit, measured, allowed] = broken;
  return { fits: false, limit, measured, allowed };
}
