/** What images and documents cost in tokens, by each vendor's own formula. */
import type { ImageBlock, MediaBlock } from '../../workflows/core/message';
import type { ProviderWire } from '../providers/provider';
import { isNewerClaude } from '../models/model-traits';

/** Pixels. */
type ImageSize = Pick<ImageBlock, 'width' | 'height'>;

/**
 * Tokens of an image or a document, calibration aside: a vendor bills them by size, not by its tokenizer.
 *
 * Contract: pure. Source: each formula's own docstring.
 */
export function mediaTokens(block: MediaBlock, wire: ProviderWire, model: string): number {
  if (block.type === 'file') return block.pages * pageTokens(wire, model);
  return imageTokens(block, wire, model);
}

function imageTokens(size: ImageSize, wire: ProviderWire, model: string): number {
  return wire === 'anthropic'
    ? anthropicImageTokens(size, isNewerClaude(model))
    : openAiImageTokens(size, model);
}

/** Tokens of a page of a PDF: text and picture (Anthropic's PDF guide: about 7,000 for 3 pages). */
const anthropicPageTokens = 2_500;
/** The same of the text alone, and the size of the picture: OpenAI gives models both, and names neither number (file inputs guide). */
const pageTextTokens = 600;
const pageSize: ImageSize = { width: 1_024, height: 1_325 };

function pageTokens(wire: ProviderWire, model: string): number {
  return wire === 'anthropic'
    ? anthropicPageTokens
    : pageTextTokens + openAiImageTokens(pageSize, model);
}

/** Longest edge in pixels, and most tokens, beyond which Anthropic scales an image down (vision guide). */
const olderClaude = { longEdge: 1_568, mostTokens: 1_600 };
const newerClaude = { longEdge: 2_576, mostTokens: 4_784 };
/** Pixels of one token (vision guide: width x height / 750). */
const anthropicPixelsPerToken = 750;

function anthropicImageTokens(size: ImageSize, isNewer: boolean): number {
  const { longEdge, mostTokens } = isNewer ? newerClaude : olderClaude;
  const scale = Math.min(1, longEdge / Math.max(size.width, size.height));
  const tokens = Math.ceil((size.width * size.height * scale * scale) / anthropicPixelsPerToken);
  return Math.min(mostTokens, tokens);
}

/** Models that OpenAI bills by patches of 32 px, with the factor on them (images and vision guide). */
const patchModels: readonly (readonly [pattern: RegExp, factor: number])[] = [
  [/^(?:gpt-5(?:\.\d+)?-mini|gpt-4\.1-mini)/, 1.62],
  [/^(?:gpt-5(?:\.\d+)?-nano|gpt-4\.1-nano)/, 2.46],
  [/^o4-mini/, 1.72],
];
const patchEdge = 32;
const mostPatches = 1_536;

/** Models that OpenAI bills by tiles of 512 px: tokens of the image, and of each tile (images and vision guide). */
const tileModels: readonly (readonly [pattern: RegExp, base: number, tile: number])[] = [
  [/^gpt-5/, 70, 140],
  [/^gpt-4o-mini/, 2_833, 5_667],
  [/^o[13]/, 75, 150],
  [/^/, 85, 170],
];
const tileEdge = 512;
const tileLongEdge = 2_048;
const tileShortEdge = 768;

function openAiImageTokens(size: ImageSize, model: string): number {
  const name = model.slice(model.lastIndexOf('/') + 1);
  const patch = patchModels.find(([pattern]) => pattern.test(name));
  if (patch !== undefined) return patchTokens(size, patch[1]);
  const [, base, tile] = tileModels.find(([pattern]) => pattern.test(name)) ?? [/^/, 85, 170];
  return tileTokens(size, base, tile);
}

/** Scaled down to fit the most patches, then rounded up to whole ones. */
function patchTokens({ width, height }: ImageSize, factor: number): number {
  const patches = Math.ceil(width / patchEdge) * Math.ceil(height / patchEdge);
  return Math.ceil(Math.min(mostPatches, patches) * factor);
}

/** Fitted into a square of 2,048 px, then the shorter edge to 768 px if it is longer, then counted in tiles. */
function tileTokens({ width, height }: ImageSize, base: number, tile: number): number {
  const fit = Math.min(1, tileLongEdge / Math.max(width, height));
  const shrink = Math.min(1, tileShortEdge / (Math.min(width, height) * fit));
  const across = Math.ceil((width * fit * shrink) / tileEdge);
  const down = Math.ceil((height * fit * shrink) / tileEdge);
  return base + tile * across * down;
}
