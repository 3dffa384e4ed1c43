/** Images and files of a goal, a message or an answer: the text names each, and the store has their bytes (ADR 0056). */
import { defined } from './json';
import { attachmentChars, attachmentsPerText } from './limits';
import type { Attachment, RouteMedia, Said } from './message';

/** A text with its attachments; the text alone where there are none. */
export function said(text: string, attachments: readonly Attachment[] | undefined): Said {
  return attachments === undefined || attachments.length === 0 ? text : { text, attachments };
}

/** The words, in which each attachment is named. */
export function textOf(given: Said): string {
  return typeof given === 'string' ? given : given.text;
}

/** The attachments; none of a mere text. */
export function attachmentsOf(given: Said): readonly Attachment[] {
  return typeof given === 'string' ? [] : given.attachments;
}

/** As how many characters it counts where texts wait. */
export function charsOf(given: Said): number {
  return textOf(given).length + attachmentChars * attachmentsOf(given).length;
}

/** What stands for an attachment in a text: `[image 1: photo.png]`. `index` from 0. */
export function attachmentLabel(
  { type, mediaType, name }: Pick<Attachment, 'type' | 'mediaType' | 'name'>,
  index: number,
): string {
  return `[${type} ${index + 1}: ${name ?? mediaType}]`;
}

/** Whether a model gets it as it is; a text file is read as text by every one. */
function needOf({ type, mediaType }: Attachment): keyof RouteMedia | undefined {
  if (type === 'image') return 'image';
  return mediaType === 'application/pdf' ? 'pdf' : undefined;
}

const words: { readonly [Need in keyof RouteMedia]-?: string } = {
  image: 'images',
  pdf: 'PDF documents',
};

/**
 * Why no route of a chain takes one of these, and what to do; undefined if each is taken by one at least.
 *
 * Contract: pure; a route that does not say what it takes, takes everything; so does a run that knows no routes yet.
 */
export function untakenProblem(
  chain: readonly {
    readonly provider: string;
    readonly model: string;
    readonly media?: RouteMedia;
  }[],
  attachments: readonly Attachment[],
): string | undefined {
  if (chain.length === 0) return undefined;
  for (const attachment of attachments) {
    const need = needOf(attachment);
    if (need === undefined) continue;
    const most = chain.map(({ media }) => (media === undefined ? Infinity : (media[need] ?? 0)));
    if (most.some((bytes) => bytes >= attachment.bytes)) continue;
    const what = attachment.name ?? attachment.mediaType;
    const routes = chain.map(({ provider, model }) => `${provider}/${model}`).join(', ');
    const largest = Math.max(0, ...most);
    return largest === 0
      ? `"${what}": no model of this agent takes ${words[need]} (${routes}). Add a route with a model that does, or say so with \`media\` on the route.`
      : `"${what}" has ${attachment.bytes} bytes; the models of this agent take ${words[need]} of at most ${largest} bytes (${routes}). Make it smaller.`;
  }
  return undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const imageTypes: readonly unknown[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

function isAttachment(value: unknown): value is Attachment {
  if (typeof value !== 'object' || value === null) return false;
  const { mediaType, ref, bytes, name } = value as Fields;
  const isNamed = name === undefined || (typeof name === 'string' && name.length <= 100);
  const isStored = typeof ref === 'string' && /^[\w-]{43}$/.test(ref) && isCount(bytes);
  const hasType =
    typeof mediaType === 'string' && /^[\w.+-]{1,60}\/[\w.+-]{1,100}$/.test(mediaType);
  return isNamed && isStored && hasType && hasSize(value as Fields);
}

/** Whether it says how large it is, as its type does. */
function hasSize({ type, mediaType, width, height, pages }: Fields): boolean {
  if (type === 'image') return imageTypes.includes(mediaType) && isCount(width) && isCount(height);
  return (
    type === 'file' && (mediaType === 'application/pdf' ? isCount(pages) : pages === undefined)
  );
}

/**
 * Received attachments, or undefined if they are none. Absent ones are an empty list.
 *
 * Contract: total; nothing but the fields of an attachment is kept, so that state stays small.
 */
export function readAttachments(value: unknown): readonly Attachment[] | undefined {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > attachmentsPerText) return undefined;
  const given: readonly unknown[] = value;
  if (!given.every(isAttachment)) return undefined;
  return given.map(({ type, mediaType, ref, bytes, name, ...rest }) => {
    const { width, height, pages } = rest as Fields;
    const fields = { type, mediaType, ref, bytes, name, width, height, pages };
    // What the check has seen, without what it has not.
    return defined(fields) as unknown as Attachment;
  });
}

/** An image or a file as a caller or a tool gives it. */
export interface MediaPart {
  /** `file`: a PDF, which models that take documents read whole, or a file of text. */
  readonly type: 'image' | 'file';
  /** The bytes, or their base64 (also as a `data:` URL). */
  readonly data: Uint8Array | string;
  /** Refused if the bytes are of another type. Default: what the bytes are. */
  readonly mediaType?: string;
  /** File name, for the model and for people. */
  readonly name?: string;
}

/** A part of what a person says. */
export type ContentPart = { readonly type: 'text'; readonly text: string } | MediaPart;

/** What a person says to an agent: a text, or texts, images and files in their order. */
export type Content = string | readonly ContentPart[];

/** Where images and files are stored: the store of the workers, as `openStore` opens it. */
export interface MediaStore {
  readonly id: string;
  readonly label: string;
  /** Errors: `UserError` that names the part and what is wrong with it; `store_unavailable`. @internal */
  putMedia(part: MediaPart): Promise<Attachment>;
}
