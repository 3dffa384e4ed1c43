/** Replaces images and documents that a request cannot have with a text that says so. */
import type {
  ImageBlock,
  MediaBlock,
  Message,
  ToolResultBlock,
  UserMessage,
} from '../../../workflows/core/message';
import { readOutputTool } from '../../../workflows/core/tools/ports';
import type { ModelRequest, ProviderWire } from '../provider';
import { perObject, PerObjectWhile } from './per-object';
import type { RequestLimits } from './request-limits';
import { requestLimitsOf } from './request-limits';

/** What decides about the media of a request. */
export type MediaRequest = Pick<ModelRequest, 'messages' | 'model' | 'tools' | 'media'>;

/** Images that are left out together, oldest first, so that the cached beginning of the prompt changes rarely. */
const imagesAtOnce = 10;

/** What is not sent, each with the text that stands in its place. */
type Notices = ReadonlyMap<MediaBlock, string>;

/**
 * The messages with a text instead of each image or document that the model does not take, that the vendor would refuse, or that
 * compaction removed. A vendor would refuse every later request of the run too, as it stays in the transcript.
 *
 * Contract: pure; messages without such media are the same objects; the text claims nothing about the content. What comes out goes
 * in again unchanged.
 * Source: Anthropic's vision guide (8,000 pixels a side; 2,000 where a request has more than 20 images), and the refusals that
 * its users met ("At least one of the image dimensions exceed max allowed size").
 */
export function sendableMedia(request: MediaRequest, wire: ProviderWire): readonly Message[] {
  const { messages } = request;
  const media = mediaIn(messages);
  if (media.length === 0) return messages;
  const notices = new Map<MediaBlock, string>();
  for (const [block, problem] of problemsOf(request, wire, media))
    notices.set(
      block,
      `[The runtime left ${aKind(block)} out here (${factsOf(block)}): ${problem}.]`,
    );
  for (const block of media)
    if (block.removed === true) notices.set(block, removedText(block, request));
  return notices.size === 0 ? messages : messages.map((message) => noticed(message, notices));
}

/** What of a request's media does not reach the model, in words, each with why; what compaction removed is not among it. */
export function mediaLeftOut(request: MediaRequest, wire: ProviderWire): readonly string[] {
  const media = mediaIn(request.messages);
  if (media.length === 0) return [];
  const problems = problemsOf(request, wire, media);
  return [...problems].map(([block, problem]) => `${factsOf(block)}: ${problem}`);
}

/** The images and documents in a message, those of tool results included. */
export const mediaOf = perObject((message: Message): readonly MediaBlock[] => {
  if (message.role === 'tool') return message.results.flatMap(({ media = [] }) => media);
  if (message.role !== 'user') return [];
  return message.blocks.flatMap((block) => (block.type === 'text' ? [] : [block]));
});

/** Of a whole conversation, which each part of a model call asks for. */
export const mediaIn = perObject((messages: readonly Message[]): readonly MediaBlock[] =>
  messages.flatMap(mediaOf),
);

/** Bytes of base64 that so many bytes become. */
export function base64Bytes(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

const aKind = ({ type }: MediaBlock): string => (type === 'image' ? 'an image' : 'a document');

function factsOf(block: MediaBlock): string {
  return block.name === undefined ? block.mediaType : `${block.name}, ${block.mediaType}`;
}

/** What an image or a document was, and how the model gets it again, where it has `read_output`. */
function removedText(block: MediaBlock, { tools }: MediaRequest): string {
  const size =
    block.type === 'image' ? `${block.width} x ${block.height} pixels` : `${block.pages} pages`;
  const again = tools.some(({ name }) => name === readOutputTool)
    ? `See it again with ${readOutputTool}, ref "${block.ref}".`
    : 'Ask for it again if you need it.';
  const kind = aKind(block).replace(/^a/, 'A');
  return `[${kind} was here (${factsOf(block)}, ${size}). The runtime removed it to save space. ${again}]`;
}

function problemsOf(
  { model, media: takes }: MediaRequest,
  wire: ProviderWire,
  all: readonly MediaBlock[],
): Notices {
  const limits = requestLimitsOf(wire, model);
  const problems = new Map<MediaBlock, string>();
  const media = all.filter(({ removed }) => removed !== true);
  for (const block of media) {
    const problem = untaken(block, takes) ?? problemOf(block, limits);
    if (problem !== undefined) problems.set(block, problem);
  }
  const sound = media.filter((block) => !problems.has(block));
  for (const image of excessImages(sound.filter(isImage), limits))
    problems.set(
      image,
      `an older one, and this model takes no more than ${limits.largeImages} images where one is longer than ${limits.manyImagesEdge} pixels`,
    );
  for (const file of excessFiles(sound, limits))
    problems.set(
      file,
      `an older one, and this model takes no more than ${limits.pages} pages in all`,
    );
  return problems;
}

const isImage = (block: MediaBlock): block is ImageBlock => block.type === 'image';

function untaken({ type }: MediaBlock, takes: MediaRequest['media']): string | undefined {
  if (takes === undefined || takes[type === 'image' ? 'image' : 'pdf'] !== undefined)
    return undefined;
  return `this model takes no ${type === 'image' ? 'images' : 'PDF documents'}`;
}

function longEdge({ width, height }: ImageBlock): number {
  return Math.max(width, height);
}

/** Why the vendor accepts this image or document in no request. */
function problemOf(block: MediaBlock, limits: RequestLimits): string | undefined {
  const bytes = base64Bytes(block.bytes);
  const most = isImage(block) ? limits.imageBytes : limits.pdfBytes;
  if (bytes > most) return `${bytes} bytes of base64, and this model takes at most ${most}`;
  if (!isImage(block))
    return block.pages > limits.pages
      ? `${block.pages} pages, and this model takes at most ${limits.pages}`
      : undefined;
  return longEdge(block) > limits.imageEdge
    ? `${block.width} x ${block.height} pixels, and this model takes at most ${limits.imageEdge} on a side`
    : undefined;
}

/** The oldest images, which are left out so that the others may keep their size. */
function excessImages(
  images: readonly ImageBlock[],
  { largeImages, manyImagesEdge }: RequestLimits,
): readonly ImageBlock[] {
  const excess = images.length - largeImages;
  if (excess <= 0) return [];
  if (images.every((image) => longEdge(image) <= manyImagesEdge)) return [];
  return images.slice(0, Math.ceil(excess / imagesAtOnce) * imagesAtOnce);
}

/** The oldest documents, which are left out so that the pages of the others fit. */
function excessFiles(
  media: readonly MediaBlock[],
  { pages: most }: RequestLimits,
): readonly MediaBlock[] {
  let pages = 0;
  const newestFirst = media.filter((block) => block.type === 'file').reverse();
  return newestFirst.filter((file) => (pages += file.pages) > most);
}

/** A result without the media that cannot be sent, and with why. */
function resultWithNotices(result: ToolResultBlock, notices: Notices): ToolResultBlock {
  const { media = [], content, ...rest } = result;
  const said = media.flatMap((block) => notices.get(block) ?? []);
  if (said.length === 0) return result;
  const kept = media.filter((block) => !notices.has(block));
  return { ...rest, content: [content, ...said].join('\n'), media: kept };
}

const lastNoticed = new PerObjectWhile<Message, Message>();

/** `withNotices`, which gives the same object for the same notices. */
function noticed(message: Message, notices: Notices): Message {
  const said = mediaOf(message).map((block) => notices.get(block));
  if (said.every((each) => each === undefined)) return message;
  return lastNoticed.get(message, said, () => withNotices(message, notices));
}

function withNotices(message: Message, notices: Notices): Message {
  if (message.role === 'tool') {
    const results = message.results.map((result) => resultWithNotices(result, notices));
    return { ...message, results };
  }
  if (message.role !== 'user') return message;
  const blocks = message.blocks.map((block): UserMessage['blocks'][number] => {
    const notice = block.type === 'text' ? undefined : notices.get(block);
    return notice === undefined ? block : { type: 'text', text: notice };
  });
  return { ...message, blocks };
}
