/** Looks at images and files before they are stored: what they are, and whether a model could take them at all (ADR 0056). */
import type { MediaPart } from '../../workflows/core/attachments';
import type { Attachment } from '../../workflows/core/message';
import { defined } from '../../workflows/core/json';
import { attachmentBytes, textFileBytes } from '../../workflows/core/limits';
import type { ContentHash } from '../../workflows/core/message';
import { UserError } from '../lifecycle/user-error';
import { decodeText } from '../untrusted/decode-text';
import { imageSizeOf, imageTypeOf } from './image-size';
import { isEncrypted, isPdf, pdfPages } from './pdf';

/** An attachment whose bytes are still to be stored. */
export interface CheckedMedia {
  readonly content: Buffer;
  readonly facts: DistributiveOmit<Attachment, 'ref'>;
}

type DistributiveOmit<Type, Key extends PropertyKey> = Type extends unknown
  ? Omit<Type, Key>
  : never;

/** What is wrong with a part, in words that name no part. */
interface Refused {
  readonly problem: string;
}

/** Media types of text beside `text/*`. */
const textTypes =
  /^(?:text\/[\w.+-]{1,80}|application\/(?:json|jsonl|x-ndjson|xml|yaml|x-yaml|toml|javascript|sql|[\w.-]{1,80}\+(?:json|xml)))$/;

/** Characters of a name. */
const nameChars = 100;

/** The last part of a path, without what would end the place where it is shown. */
function shownName(name: string | undefined): string | undefined {
  const last = name
    ?.split(/[/\\]/)
    .at(-1)
    ?.replace(/[\p{C}[\]"<>]/gu, '_')
    .trim();
  return last === undefined || last === '' ? undefined : last.slice(-nameChars);
}

/** What base64 has none of. A pattern of the whole text would need a stack as deep as the text is long. */
const notBase64 = /[^A-Za-z0-9+/_-]/;

/** The bytes of a part; undefined for a text that is no base64. */
function bytesOf({ data }: MediaPart): Buffer | undefined {
  if (typeof data !== 'string') return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const text = data.replace(/^data:[^,]{0,200},/, '').replace(/\s/g, '');
  return notBase64.test(text.replace(/={1,2}$/, '')) ? undefined : Buffer.from(text, 'base64');
}

function tooLarge(what: string, bytes: number, most: number, remedy: string): Refused {
  return { problem: `${what} has ${bytes} bytes; at most ${most} are allowed. ${remedy}` };
}

function checkImage(part: MediaPart, content: Buffer): CheckedMedia | Refused {
  const mediaType = imageTypeOf(content);
  if (mediaType === undefined)
    return { problem: 'it is no PNG, JPEG, GIF or WebP image. Convert it to one of them.' };
  const size = imageSizeOf(mediaType, content);
  if (size === undefined)
    return {
      problem: `its header has no size, so it is damaged or cut. Give a whole ${mediaType}.`,
    };
  if (content.length > attachmentBytes)
    return tooLarge('the image', content.length, attachmentBytes, 'Scale it down.');
  return {
    content,
    facts: { type: 'image', mediaType, bytes: content.length, ...nameOf(part), ...size },
  };
}

function nameOf({ name }: MediaPart): { readonly name?: string } {
  return defined({ name: shownName(name) });
}

function checkPdf(part: MediaPart, content: Buffer): CheckedMedia | Refused {
  if (content.length > attachmentBytes)
    return tooLarge('the PDF', content.length, attachmentBytes, 'Split it, or give its text.');
  if (isEncrypted(content))
    return { problem: 'the PDF is encrypted, and no model takes it. Save it without a password.' };
  const [mediaType, bytes] = ['application/pdf', content.length] as const;
  return {
    content,
    facts: { type: 'file', mediaType, bytes, ...nameOf(part), pages: pdfPages(content) },
  };
}

function checkTextFile(part: MediaPart, content: Buffer): CheckedMedia | Refused {
  const text = decodeText(content)?.text;
  if (text === undefined)
    return {
      problem:
        'it is neither a PDF nor a text (UTF-8, or UTF-16 or UTF-32 with a mark). Convert it, or let a tool read it.',
    };
  if (text.trim() === '') return { problem: 'it is empty.' };
  const { mediaType = 'text/plain' } = part;
  if (!textTypes.test(mediaType))
    return {
      problem: `its media type says ${JSON.stringify(mediaType.slice(0, 100))}, but it holds text.`,
    };
  const stored = Buffer.from(text);
  if (stored.length > textFileBytes)
    return tooLarge('the text', stored.length, textFileBytes, 'Put it where a tool can read it.');
  return {
    content: stored,
    facts: { type: 'file', mediaType, bytes: stored.length, ...nameOf(part) },
  };
}

function checkKind(part: MediaPart, content: Buffer): CheckedMedia | Refused {
  if (part.type === 'image') return checkImage(part, content);
  if (imageTypeOf(content) !== undefined)
    return { problem: 'it is an image. Give it the type "image".' };
  return isPdf(content) ? checkPdf(part, content) : checkTextFile(part, content);
}

/** `image/jpg` is no registered name, but a usual one. */
const usualNames: Readonly<Record<string, string>> = { 'image/jpg': 'image/jpeg' };

/**
 * What an image or a file is, by its bytes.
 *
 * Contract: never throws; a problem is a sentence about `it`, with what to do.
 */
export function checkMedia(part: MediaPart): CheckedMedia | Refused {
  const content = bytesOf(part);
  if (content === undefined)
    return { problem: '`data` is no base64. Give the bytes, or their base64.' };
  if (content.length === 0) return { problem: 'it is empty.' };
  const checked = checkKind(part, content);
  if ('problem' in checked || part.mediaType === undefined) return checked;
  const said = part.mediaType.toLowerCase();
  const { mediaType } = checked.facts;
  return (usualNames[said] ?? said) === mediaType
    ? checked
    : {
        problem: `its media type says ${JSON.stringify(said.slice(0, 100))}, but its bytes are ${mediaType}. Leave \`mediaType\` out, or correct it.`,
      };
}

/** Stores the bytes, and names them. */
export async function keepMedia(
  writer: { putBlob(bytes: Buffer): Promise<ContentHash> },
  { content, facts }: CheckedMedia,
): Promise<Attachment> {
  return { ...facts, ref: await writer.putBlob(content) };
}

/**
 * Checks and stores one part.
 *
 * Errors: `UserError` that names the part; those of the store.
 */
export async function putMedia(
  writer: Parameters<typeof keepMedia>[0],
  part: MediaPart,
): Promise<Attachment> {
  const checked = checkMedia(part);
  if (!('problem' in checked)) return keepMedia(writer, checked);
  const what = shownName(part.name);
  throw new UserError(
    `The ${part.type}${what === undefined ? '' : ` "${what}"`} cannot be used: ${checked.problem}`,
  );
}
