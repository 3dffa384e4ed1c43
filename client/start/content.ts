/** What people say with images and files: checked, stored, and named in the text that travels (ADR 0056). */
import type { Content, ContentPart, MediaStore } from '../../workflows/core/attachments';
import type { Attachment } from '../../workflows/core/message';
import { attachmentLabel, untakenProblem } from '../../workflows/core/attachments';
import { attachmentsPerText, personTextChars } from '../../workflows/core/limits';
import { ClientError, reasonOf } from '../client-error';
import { foldToEnd } from '../history/read-history';
import type { RunAccess } from '../run-access';
import { attempt } from '../run-access';

/** A text that names its attachments. */
export interface StoredContent {
  readonly text: string;
  /** Absent if there are none. */
  readonly attachments?: readonly Attachment[];
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf: { readonly [Type in ContentPart['type']]: readonly string[] } = {
  text: ['text'],
  image: ['data', 'mediaType', 'name'],
  file: ['data', 'mediaType', 'name'],
};

function isType(type: unknown): type is ContentPart['type'] {
  return typeof type === 'string' && Object.hasOwn(fieldsOf, type);
}

/** What is wrong with one part, in words; undefined if nothing is. */
function problemOfPart(part: unknown, place: string): string | undefined {
  if (typeof part !== 'object' || part === null)
    return `${place} must be an object such as { type: 'text', text }, got ${typeof part}`;
  const { type, ...fields } = part as Fields;
  if (!isType(type))
    return `${place} has the type ${JSON.stringify(type)}; use "text", "image" or "file"`;
  const known = fieldsOf[type];
  const unknown = Object.keys(fields).find((key) => !known.includes(key));
  if (unknown !== undefined)
    return `${place} has the unknown field ${JSON.stringify(unknown)}; "${type}" takes ${known.join(', ')}${/url|uri|path|source/i.test(unknown) ? ' (give the bytes: read or download them first)' : ''}`;
  if (type === 'text')
    return typeof fields['text'] === 'string' ? undefined : `${place} has no text`;
  const { data } = fields;
  if (!(data instanceof Uint8Array) && typeof data !== 'string')
    return `${place}: data must be the bytes (a Uint8Array) or their base64, got ${typeof data}`;
  const wrong = ['mediaType', 'name'].find(
    (key) => fields[key] !== undefined && typeof fields[key] !== 'string',
  );
  return wrong === undefined ? undefined : `${place}: ${wrong} must be a string`;
}

function problemOfWords(what: string, text: string, isNeeded: boolean): string | undefined {
  if (text.length > personTextChars)
    return `${what} has ${text.length} characters; at most ${personTextChars} are allowed`;
  return isNeeded && text.trim() === '' ? `${what} is empty` : undefined;
}

/** What is wrong with what a person says, before anything is stored or sent; undefined if nothing is. */
export function problemOfContent(what: string, given: unknown): string | undefined {
  if (typeof given === 'string') return problemOfWords(what, given, true);
  if (!Array.isArray(given)) return `${what} must be a string, or a list of parts`;
  const parts: readonly unknown[] = given;
  if (parts.length === 0) return `${what} is empty`;
  for (const [index, part] of parts.entries()) {
    const problem = problemOfPart(part, `Part ${index + 1} of ${what.replace(/^T/, 't')}`);
    if (problem !== undefined) return problem;
  }
  const checked = parts as readonly ContentPart[];
  const media = checked.filter(({ type }) => type !== 'text');
  if (media.length > attachmentsPerText)
    return `${what} has ${media.length} images and files; at most ${attachmentsPerText} are allowed. Send the others with a message`;
  const texts = checked.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return problemOfWords(what, texts.join('\n'), media.length === 0);
}

/** Whether anything is to be stored. */
function hasMedia(content: Content): boolean {
  return typeof content !== 'string' && content.some(({ type }) => type !== 'text');
}

async function stored(
  store: MediaStore,
  part: Exclude<ContentPart, { type: 'text' }>,
  unsent: string,
): Promise<Attachment> {
  try {
    return await store.putMedia(part);
  } catch (thrown) {
    const isRefused = thrown instanceof Error && thrown.name === 'UserError';
    throw new ClientError(
      isRefused ? 'invalid-input' : 'unreachable',
      `${reasonOf(thrown)} ${unsent}`,
      { cause: thrown },
    );
  }
}

/**
 * Stores the images and files, and names each in the text.
 *
 * Contract: `content` has passed `problemOfContent`.
 * Errors: `invalid-input` for a client without a store, and for what no model takes; `unreachable` for a store that is down.
 */
export async function storedContent(
  store: MediaStore | undefined,
  content: Content,
  unsent: string,
): Promise<StoredContent> {
  if (typeof content === 'string') return { text: content };
  if (store === undefined && hasMedia(content))
    throw new ClientError(
      'invalid-input',
      `There are images or files to send, and this client has no store to put them in. Give it the one of the workers: connect({ store: await openStore(url) }). ${unsent}`,
    );
  const attachments: Attachment[] = [];
  const texts: string[] = [];
  for (const part of content) {
    if (part.type === 'text') texts.push(part.text);
    else if (store !== undefined) {
      const attachment = await stored(store, part, unsent);
      texts.push(attachmentLabel(attachment, attachments.length));
      attachments.push(attachment);
    }
  }
  return { text: texts.join('\n'), ...(attachments.length > 0 && { attachments }) };
}

/**
 * The same for a run in progress, whose store and routes must be able to take it.
 *
 * Errors: as `storedContent`; `invalid-input` for another store than the run's; `refused` for what no route takes.
 */
export async function contentForRun(access: RunAccess, content: Content): Promise<StoredContent> {
  const { client, runId, store } = access;
  const unsent = 'Nothing was sent.';
  const { attachments, text } = await storedContent(store, content, unsent);
  if (attachments === undefined) return { text };
  const { state } = await attempt(access, () => foldToEnd(client, runId));
  const { snapshot } = state ?? {};
  if (snapshot === undefined)
    throw new ClientError(
      'refused',
      `Run "${runId}" is still being prepared, so nobody knows what its models take. Send it again in a moment. ${unsent}`,
    );
  if (snapshot.storeId !== store?.id)
    throw new ClientError(
      'invalid-input',
      `Run "${runId}" lives in store ${snapshot.storeId}, and this client has store ${store?.id ?? ''}. Connect with the run's store. ${unsent}`,
    );
  const problem = untakenProblem(snapshot.chain, attachments);
  if (problem !== undefined) throw new ClientError('refused', `${problem} ${unsent}`);
  return { text, attachments };
}
