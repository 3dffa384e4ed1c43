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
  readonly mount: string;
}

const endpoints: readonly (readonly [RegExp, Wire])[] = [
  [/^(.*)\/v1\/messages$/, anthropicWire],
  [/^(.*?)(?:\/v1)?\/responses$/, responsesWire],
  [/^(.*?)(?:\/v1)?\/chat\/completions$/, chatWire],
];

/** The wire that a request belongs to. */
export function routeOf(request: IncomingMessage): Route | undefined {
  if (request.method !== 'POST') return undefined;
  const path = pathOf(request);
  for (const [pattern, wire] of endpoints) {
    const match = pattern.exec(path);
    if (match !== null) return { wire, mount: (match[1] ?? '').replace(/^\//, '') };
  }
  return undefined;
}

const secretHeaders = ['authorization', 'x-api-key', 'api-key', 'cookie', 'proxy-authorization'];

/** Headers as recorded: present, but without keys. */
export function redactedHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const recorded: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const joined = Array.isArray(value) ? value.join(', ') : value;
    const redacted = joined.startsWith('Bearer ') ? 'Bearer [redacted]' : '[redacted]';
    recorded[name] = secretHeaders.includes(name) ? redacted : joined;
  }
  return recorded;
}

/** Largest body in bytes (Anthropic's limit). */
const maxBodyBytes = 33_554_432;

/** The body as text, or undefined if it is too large (then the rest is read and dropped). */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size <= maxBodyBytes) chunks.push(bytes);
  }
  return size <= maxBodyBytes ? Buffer.concat(chunks).toString('utf8') : undefined;
}

/** What is wrong with a body's text. */
interface TextProblem {
  readonly message: string;
  readonly position: number;
}

/** An escape of half a character, without its other half and not itself escaped. */
const loneSurrogate = /(?<!\\)(?:\\\\)*(?:\\ud[89ab]..(?!\\ud[c-f])|(?<!\\ud[89ab]..)\\ud[c-f]..)/i;

/** A parsed body, or what the vendor's strict parser finds wrong. */
export interface ParsedBody {
  readonly body: JsonObject;
  readonly problem?: TextProblem | 'too-large';
}

/** Parses a body; `undefined` means that it was too large to keep. */
export function parseBody(text: string | undefined): ParsedBody {
  if (text === undefined) return { body: {}, problem: 'too-large' };
  const lone = loneSurrogate.exec(text);
  if (lone !== null) {
    const position = lone.index + lone[0].length;
    return { body: {}, problem: { message: 'no low surrogate in string', position } };
  }
  try {
    const parsed = JSON.parse(text) as JsonValue;
    if (isObject(parsed)) return { body: parsed };
    return { body: {}, problem: { message: 'expected an object', position: 0 } };
  } catch {
    return { body: {}, problem: { message: 'unexpected token', position: 0 } };
  }
}
