/** How large a request may be beyond its tokens, by wire. */
import type { RouteMedia } from '../../../workflows/core/message';
import { windowOf } from '../../models/model-catalog';
import type { ProviderWire } from '../provider';

/** What one request of a provider may hold. */
export interface RequestLimits {
  /** Bytes of the whole body. */
  readonly bytes: number;
  readonly images: number;
  /** Bytes of one image's base64 text. */
  readonly imageBytes: number;
  /** Pixels of an image's longer side. */
  readonly imageEdge: number;
  /** The same in a request with more than `largeImages` images. */
  readonly manyImagesEdge: number;
  readonly largeImages: number;
  /** Bytes of one PDF's base64 text: what a request may have, and room for the rest of it. */
  readonly pdfBytes: number;
  /** Pages of all PDFs. */
  readonly pages: number;
  /** Messages, each result of a tool by itself where the wire has it so. */
  readonly messages: number;
}

const mega = 1024 * 1024;

const openAi = {
  bytes: 50 * mega,
  images: 500,
  imageBytes: 50 * mega,
  imageEdge: Infinity,
  manyImagesEdge: Infinity,
  largeImages: 500,
  pdfBytes: 48 * mega,
  pages: Infinity,
} as const;

/**
 * Source: Anthropic's API overview (32 MB, 100,000 messages) and vision guide (100 images, 5 MB each, 8,000 pixels a side, 2,000
 * where there are more than 20) and its PDF guide (100 pages a request); OpenAI's images guide (50 MB, 500 images; it scales down what has too many pixels),
 * its file inputs guide (50 MB a request), and 2,048 messages on the Chat wire by its own refusal ("Maximum length is 2048").
 */
const limits: Readonly<Record<ProviderWire, RequestLimits>> = {
  anthropic: {
    bytes: 32 * mega,
    images: 100,
    imageBytes: 5 * mega,
    imageEdge: 8_000,
    manyImagesEdge: 2_000,
    largeImages: 20,
    pdfBytes: 30 * mega,
    pages: 100,
    messages: 100_000,
  },
  responses: { ...openAi, messages: Infinity },
  chat: { ...openAi, messages: 2_048 },
};

/** Images, and pages of PDFs, that Claude models with a window above 200,000 tokens take (vision and PDF guides). */
const manyImages = 600;

/** Models whose width is remembered: to find it takes a search of the catalog. */
const rememberedModels = 256;
const wideModels = new Map<string, boolean>();

function isWide(model: string): boolean {
  const known = wideModels.get(model);
  if (known !== undefined) return known;
  if (wideModels.size >= rememberedModels) wideModels.clear();
  const found = (windowOf('anthropic', model) ?? 0) > 200_000;
  wideModels.set(model, found);
  return found;
}

/** Limits of a model on a wire; those of the strictest wire where the provider does not say which it speaks. */
export function requestLimitsOf(wire: ProviderWire | undefined, model = ''): RequestLimits {
  const known = limits[wire ?? 'anthropic'];
  return wire === 'anthropic' && isWide(model)
    ? { ...known, images: manyImages, pages: manyImages }
    : known;
}

/** What a model takes beside text. */
export type MediaKind = 'image' | 'pdf';

/** Bytes of a file whose base64 has at most so many. */
const plainBytes = (base64Bytes: number): number => Math.floor((base64Bytes * 3) / 4);

/** What a route takes, with the most bytes of one file. */
export function routeMediaOf(
  kinds: readonly MediaKind[],
  wire: ProviderWire | undefined,
): RouteMedia {
  const { imageBytes, pdfBytes } = requestLimitsOf(wire);
  return {
    ...(kinds.includes('image') ? { image: plainBytes(imageBytes) } : {}),
    ...(kinds.includes('pdf') ? { pdf: plainBytes(pdfBytes) } : {}),
  };
}
