/** Replaces images for which the vendor would refuse the whole request with a text that says so. */
import type {
  ImageBlock,
  Message,
  ToolResultBlock,
  UserMessage,
} from '../../../workflows/core/message';
import type { ImageSize } from './image-size';
import { perObject } from './per-object';
import { imageSizeOf, isImageOf } from './image-size';
import type { RequestLimits } from './request-limits';
import { requestLimitsOf } from './request-limits';
import type { ProviderWire } from '../provider';

/** Images that are left out together, oldest first, so that the cached beginning of the prompt changes rarely. */
const imagesAtOnce = 10;

/**
 * The messages with a text instead of each image that the vendor would refuse. It would refuse every later request of the run
 * too, as the image stays in the transcript.
 *
 * Contract: pure; messages without such an image are the same objects; the text claims nothing about the image's content.
 * Source: Anthropic's vision guide (8,000 pixels a side; 2,000 where a request has more than 20 images), and the refusals that
 * its users met ("At least one of the image dimensions exceed max allowed size").
 */
export function sendableImages(
  messages: readonly Message[],
  wire: ProviderWire,
): readonly Message[] {
  const images = messages.flatMap(imagesOf);
  if (images.length === 0) return messages;
  const limits = requestLimitsOf(wire);
  const problems = new Map<ImageBlock, string>();
  for (const image of images) {
    const problem = problemOf(image, limits);
    if (problem !== undefined) problems.set(image, problem);
  }
  const sound = images.filter((image) => !problems.has(image));
  for (const image of excessImages(sound, limits))
    problems.set(
      image,
      `an older one, and this model takes no more than ${limits.largeImages} images where one is longer than ${limits.manyImagesEdge} pixels`,
    );
  return problems.size === 0 ? messages : messages.map((message) => noticed(message, problems));
}

/** The images in a message, those of tool results included. */
export const imagesOf = perObject((message: Message): readonly ImageBlock[] => {
  if (message.role === 'tool') return message.results.flatMap(({ images = [] }) => images);
  if (message.role !== 'user') return [];
  return message.blocks.flatMap((block) => (block.type === 'image' ? [block] : []));
});

function longEdge(size: ImageSize | undefined): number {
  return size === undefined ? 0 : Math.max(size.width, size.height);
}

/** Why the vendor accepts this image in no request. */
function problemOf(image: ImageBlock, limits: RequestLimits): string | undefined {
  const { data, mediaType } = image;
  if (!isImageOf(image)) return `its bytes are not ${mediaType}`;
  if (data.length > limits.imageBytes)
    return `${data.length} bytes of base64, and this model takes at most ${limits.imageBytes}`;
  const size = imageSizeOf(image);
  return size !== undefined && longEdge(size) > limits.imageEdge
    ? `${size.width} x ${size.height} pixels, and this model takes at most ${limits.imageEdge} on a side`
    : undefined;
}

/** The oldest images, which are left out so that the others may keep their size. */
function excessImages(
  images: readonly ImageBlock[],
  { largeImages, manyImagesEdge }: RequestLimits,
): readonly ImageBlock[] {
  const excess = images.length - largeImages;
  if (excess <= 0) return [];
  if (images.every((image) => longEdge(imageSizeOf(image)) <= manyImagesEdge)) return [];
  return images.slice(0, Math.ceil(excess / imagesAtOnce) * imagesAtOnce);
}

const noticeOf = ({ mediaType }: ImageBlock, problem: string): string =>
  `[The runtime left an image out here (${mediaType}): ${problem}.]`;

/** A result without the images that cannot be sent, and with why. */
function resultWithNotices(
  result: ToolResultBlock,
  problems: ReadonlyMap<ImageBlock, string>,
): ToolResultBlock {
  const { images = [], content, ...rest } = result;
  const notices = images.flatMap((image) => {
    const problem = problems.get(image);
    return problem === undefined ? [] : [noticeOf(image, problem)];
  });
  if (notices.length === 0) return result;
  const kept = images.filter((image) => !problems.has(image));
  return { ...rest, content: [content, ...notices].join('\n'), images: kept };
}

/** What became of a message last, and of which problems. */
const lastNoticed = new WeakMap<Message, { readonly said: string; readonly message: Message }>();

/** `withNotices`, which gives the same object for the same problems. */
function noticed(message: Message, problems: ReadonlyMap<ImageBlock, string>): Message {
  const images = imagesOf(message);
  if (!images.some((image) => problems.has(image))) return message;
  const said = JSON.stringify(images.map((image) => problems.get(image) ?? null));
  const known = lastNoticed.get(message);
  if (known?.said === said) return known.message;
  const made = withNotices(message, problems);
  lastNoticed.set(message, { said, message: made });
  return made;
}

function withNotices(message: Message, problems: ReadonlyMap<ImageBlock, string>): Message {
  if (message.role === 'tool') {
    const results = message.results.map((result) => resultWithNotices(result, problems));
    return { ...message, results };
  }
  if (message.role !== 'user') return message;
  const blocks = message.blocks.map((block): UserMessage['blocks'][number] => {
    const problem = block.type === 'image' ? problems.get(block) : undefined;
    if (block.type === 'text' || problem === undefined) return block;
    return { type: 'text', text: noticeOf(block, problem) };
  });
  return { ...message, blocks };
}
