/** From an incoming HTTP request to a wire, headers without secrets and a JSON body, or to what is wrong with it. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { anthropicWire } from './anthropic/anthropic-wire';
import { chatWire } from './openai-chat/chat-wire';
import { isObject } from './json-read';
import { responsesWire } from './openai-responses/responses-wire';
import type { Wire } from './wire';

/** The path of a request, without its query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?')[0] ?? '/';
}

/** The target of a request. */
export interface Route {
  readonly wire: Wire;
  /** Only counts tokens. */
  readonly counts: boolean;
  readonly mount: string;
}

const endpoints: readonly (readonly [RegExp, Wire, boolean])[] = [
  [/^(.*)\/v1\/messages$/, anthropicWire, false],
  [/^(.*)\/v1\/messages\/count_tokens$/, anthropicWire, true],
  [/^(.*?)(?:\/v1)?\/responses$/, responsesWire, false],
  [/^(.*?)(?:\/v1)?\/chat\/completions$/, chatWire, false],
];

/** The wire that a request belongs to. */
export function routeOf(request: IncomingMessage): Route | undefined {
  if (request.method !== 'POST') return undefined;
  const path = pathOf(request);
  for (const [pattern, wire, counts] of endpoints) {
    const match = pattern.exec(path);
    if (match !== null) return { wire, counts, mount: (match[1] ?? '').replace(/^\//, '') };
  }
  return undefined;
}

/** The API whose error shape is used for an unknown path. */
export function nearestWire(headers: IncomingHttpHeaders): Wire {
  return headers['anthropic-version'] === undefined ? chatWire : anthropicWire;
}

const secretHeaders = ['authorization', 'x-api-key', 'api-key', 'cookie', 'proxy-authorization'];

/** Headers as recorded: present, but without keys. */
export function redactedHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const recorded: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const joined = Array.isArray(value) ? value.join(', ') : value;
    recorded[name] = secretHeaders.includes(name) ? redact(joined) : joined;
  }
  return recorded;
}

function redact(value: string): string {
  return value.startsWith('Bearer ') ? 'Bearer [redacted]' : '[redacted]';
}

/** The body as text, or undefined if it is longer than the limit (then the rest is read and dropped). */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size <= maxBytes) chunks.push(bytes);
  }
  return size <= maxBytes ? Buffer.concat(chunks).toString('utf8') : undefined;
}

/** What is wrong with a body's text. */
interface TextProblem {
  readonly message: string;
  readonly position: number;
}

/** Position after the first `\uD8xx` escape that no low surrogate follows, or of a lone low one. */
function loneSurrogate(text: string): TextProblem | undefined {
  const escape = /\\(?:u([0-9a-fA-F]{4})|[^u])/g;
  let high: number | undefined;
  for (let match = escape.exec(text); match !== null; match = escape.exec(text)) {
    const code = match[1] === undefined ? -1 : Number.parseInt(match[1], 16);
    const isLow = code >= 0xdc00 && code <= 0xdfff;
    if (high !== undefined && (!isLow || match.index !== high)) {
      return { message: 'no low surrogate in string', position: high };
    }
    if (high === undefined && isLow) {
      return { message: 'no low surrogate in string', position: match.index + match[0].length };
    }
    const isHigh = code >= 0xd800 && code <= 0xdbff;
    high = isHigh ? match.index + match[0].length : undefined;
  }
  return high === undefined ? undefined : { message: 'no low surrogate in string', position: high };
}

/** A parsed body, or what the vendor's strict parser finds wrong. */
export type ParsedBody =
  | { readonly body: JsonObject; readonly problem?: never }
  | { readonly body: JsonObject; readonly problem: TextProblem | 'too-large' };

/** Parses a body; `undefined` means that it was too large to keep. */
export function parseBody(text: string | undefined): ParsedBody {
  if (text === undefined) return { body: {}, problem: 'too-large' };
  const lone = loneSurrogate(text);
  if (lone !== undefined) return { body: {}, problem: lone };
  try {
    const parsed = JSON.parse(text) as JsonValue;
    if (isObject(parsed)) return { body: parsed };
    return { body: {}, problem: { message: 'expected an object', position: 0 } };
  } catch {
    return { body: {}, problem: { message: 'unexpected token', position: 0 } };
  }
}
