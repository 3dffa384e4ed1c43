/** The result of an MCP call as the model reads it: whatever can be read of it, in any form (ADR 0043). */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import type { CheckedMedia } from '../../media/check-media';
import { checkMedia } from '../../media/check-media';
import { canonicalJson } from '../../stores/content-hash';
import { isJsonObject } from '../input-schema';
import { maxMedia, shownMedia } from '../output-with-media';

/** A result, read. */
export interface McpResult {
  /** What can be read; empty if the tool gave nothing. */
  readonly text: string;
  /** The server says that the tool failed. */
  readonly isError: boolean;
  /** The result holds something, of which nothing can be read. */
  readonly isUnreadable: boolean;
  /** Beside the text; undefined if there is none. */
  readonly structured: JsonValue | undefined;
  /** Images and PDFs that models take; the text names each in its place. */
  readonly media: readonly CheckedMedia[];
}

/** Bytes that base64 text encodes. */
const bytesOf = (base64: string): number => Buffer.byteLength(base64, 'base64');

const textIn = (object: JsonObject, key: string): string | undefined => {
  const value = object[key];
  return typeof value === 'string' ? value : undefined;
};

/** An encoded value of 1,000 characters and more stands for bytes, which no model reads. */
const encoded = /"[\w+/=-]{1000,}"/g;

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value).replace(
      encoded,
      (text) => `"[${bytesOf(text.slice(1, -1))} bytes, not shown]"`,
    );
  } catch {
    return undefined;
  }
}

/** The image or PDF in an item, whatever type the server gave it: its bytes say which it is. Texts are read as texts. */
function mediaIn(item: JsonObject): CheckedMedia | undefined {
  const data = textIn(item, 'data') ?? textIn(item, 'blob') ?? '';
  for (const type of ['image', 'file'] as const) {
    const checked = checkMedia({ type, data });
    if ('problem' in checked) continue;
    const { facts } = checked;
    return facts.type === 'image' || facts.mediaType === 'application/pdf' ? checked : undefined;
  }
  return undefined;
}

function mediaText(kind: string, item: JsonObject): string | undefined {
  const data = textIn(item, 'data') ?? textIn(item, 'blob');
  if (data === undefined) return undefined;
  const type = textIn(item, 'mimeType') ?? textIn(item, 'mime_type') ?? 'of an unnamed type';
  return `[${kind} ${type}, ${bytesOf(data)} bytes, not shown]`;
}

function resourceText(resource: JsonValue | undefined): string | undefined {
  if (!isJsonObject(resource)) return typeof resource === 'string' ? resource : undefined;
  const name = textIn(resource, 'uri') ?? textIn(resource, 'name') ?? 'without a name';
  const text = textIn(resource, 'text');
  if (text !== undefined) return `[resource ${name}]\n${text}`;
  const blob = textIn(resource, 'blob');
  if (blob !== undefined) return `[resource ${name}, ${bytesOf(blob)} bytes, not shown]`;
  return textIn(resource, 'uri') === undefined ? undefined : `[resource ${name}]`;
}

const sayNothing: ReadonlySet<string> = new Set(['type', 'annotations', '_meta']);

/** An item of a type that the protocol does not name, as JSON; undefined if it has nothing but its type. */
function unknownItem(item: JsonObject): string | undefined {
  const said = Object.entries(item).some(([key, value]) => !sayNothing.has(key) && value !== null);
  const json = said ? jsonOf(item) : undefined;
  return json === undefined
    ? undefined
    : `[content of the type ${textIn(item, 'type') ?? '?'}]\n${json}`;
}

/** An item of a type that the protocol names, in words. */
function knownItem(item: JsonObject): string | undefined {
  const type = textIn(item, 'type');
  const uri = textIn(item, 'uri');
  if (type === 'image' || type === 'audio') return mediaText(type, item);
  if (type === 'resource') return resourceText(item['resource']);
  return type === 'resource_link' && uri !== undefined
    ? `[resource ${textIn(item, 'name') ?? uri}: ${uri}]`
    : undefined;
}

/** One item in words; undefined if nothing of it can be read. */
function itemText(item: unknown): string | undefined {
  if (typeof item === 'string') return item;
  if (typeof item === 'number' || typeof item === 'boolean') return String(item);
  if (Array.isArray(item)) return jsonOf(item);
  return isJsonObject(item)
    ? (textIn(item, 'text') ?? knownItem(item) ?? unknownItem(item))
    : undefined;
}

/** The images and PDFs in the content that are shown. */
function mediaOfItems(items: readonly unknown[]): ReadonlyMap<unknown, CheckedMedia> {
  const found = items.flatMap((item): [unknown, CheckedMedia][] => {
    if (!isJsonObject(item)) return [];
    const { type, resource } = item;
    const holder = type === 'resource' && isJsonObject(resource) ? resource : item;
    const media = type === 'image' || type === 'resource' ? mediaIn(holder) : undefined;
    return media === undefined ? [] : [[item, media]];
  });
  return new Map(found.slice(0, maxMedia));
}

function canonical(value: unknown): string | undefined {
  try {
    return canonicalJson(value);
  } catch {
    return undefined;
  }
}

/** A text as the value that it writes; the text itself if it is no JSON. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Characters by which JSON may be longer than texts that say the same: a wrapper's. */
const spareChars = 1_000;

/** Whether the texts say all that the structured content says: as JSON, each item of a list as a text, or what FastMCP wraps as `result`. */
function isSaid(texts: readonly string[], structured: unknown, json: string): boolean {
  // Much shorter texts cannot say the same: comparing takes time.
  if (texts.join('').length * 2 + spareChars < json.length) return false;
  const wrapped = isJsonObject(structured) && Object.keys(structured).join() === 'result';
  const forms = wrapped ? [structured, structured['result']] : [structured];
  const values = texts.map(valueOf);
  const said = [values.length === 1 ? values[0] : values, values, texts.join('\n')].map(canonical);
  return forms.map(canonical).some((form) => form !== undefined && said.includes(form));
}

function contentItems({ content, toolResult }: JsonObject): readonly unknown[] {
  // Servers of the first protocol versions answered with `toolResult`.
  const given = content === undefined ? toolResult : content;
  if (given === undefined) return [];
  return Array.isArray(given) ? given : [given];
}

const saysYes: readonly unknown[] = [true, 'true', 1];

/**
 * Reads a result: all content in order, then structured content, unless the content says the same.
 *
 * Contract: never throws, whatever the server answered. A result without content is a tool that gave nothing; one with content
 * of which nothing can be read is unreadable.
 */
export function readMcpResult(result: JsonObject): McpResult {
  const items = contentItems(result);
  const media = mediaOfItems(items);
  const texts = items.map((item) => {
    const shown = media.get(item);
    return shown === undefined ? itemText(item) : shownMedia(shown);
  });
  const readable = texts.filter((text) => text !== undefined);
  const { structuredContent } = result;
  const structured = structuredContent ?? undefined;
  const whole = structured === undefined ? undefined : jsonOf(structured);
  const json = whole === undefined || isSaid(readable, structured, whole) ? undefined : whole;
  const parts = texts.map((text) => text ?? '[content that cannot be read]');
  const said =
    json === undefined ? [] : [readable.length > 0 ? `[structured content]\n${json}` : json];
  const isUnreadable = texts.length > 0 && readable.length === 0 && json === undefined;
  return {
    text: isUnreadable ? '' : [...(readable.length > 0 ? parts : []), ...said].join('\n'),
    isError: saysYes.includes(result['isError'] ?? result['is_error']),
    isUnreadable,
    structured,
    media: [...media.values()],
  };
}
