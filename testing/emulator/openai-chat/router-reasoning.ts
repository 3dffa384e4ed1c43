/** OpenRouter's `reasoning_details` in Chat Completions: creates them, and checks them when they are sent back. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../../workflows/core/json';
import { listOf, objectOf, stringOf } from '../json-read';
import type { Refusals } from '../openai/openai-shapes';
import { refusal, unknownField } from '../openai/openai-shapes';
import type { Seal } from '../seal';
import type { ValidationContext } from '../wire';

/** A router's models are named `vendor/model`. */
export function isRouted(body: JsonObject): boolean {
  return stringOf(body['model']).includes('/');
}

function isClaude(body: JsonObject): boolean {
  return stringOf(body['model']).startsWith('anthropic/');
}

/** Hash of everything before the message of that index, details left out. */
function prefixOf(body: JsonObject, index: number): string {
  const messages = listOf(body['messages']).slice(0, index).map(objectOf);
  const bare = messages.map((message) => ({ ...message, reasoning_details: null }));
  return createHash('sha256')
    .update(JSON.stringify([body['tools'] ?? [], bare]))
    .digest('base64url');
}

/** The last detail of a thought of Claude: its signature, bound to the prompt. */
export function claudeSignature(seal: Seal, text: string, body: JsonObject): JsonObject {
  const prefix = prefixOf(body, Infinity);
  return {
    type: 'reasoning.text',
    signature: `${prefix}.${seal.sign(`${prefix}:${text}`)}`,
    format: 'anthropic-claude-v1',
    index: 0,
  };
}

/** The detail of a thought, or a piece of one. */
export function textDetail(text: string, body: JsonObject): JsonObject {
  const format = isClaude(body) ? 'anthropic-claude-v1' : 'unknown';
  return { type: 'reasoning.text', text, signature: null, format, index: 0 };
}

/** The sealed thought behind a tool call, which it names (Gemini). */
export function sealedDetail(seal: Seal, callId: string): JsonObject {
  return {
    type: 'reasoning.encrypted',
    data: seal.seal('thought'),
    id: callId,
    format: 'google-gemini-v1',
    index: 0,
  };
}

/** Whether thoughts of this request's model are signed (Claude) or sealed behind a call (Gemini). */
export function detailKind(body: JsonObject): 'signed' | 'sealed' | 'plain' {
  if (isClaude(body)) return 'signed';
  return stringOf(body['model']).startsWith('google/') ? 'sealed' : 'plain';
}

function isSound(
  detail: JsonObject,
  message: JsonObject,
  prefix: string,
  { seal }: ValidationContext,
): boolean {
  if (detail['type'] === 'reasoning.encrypted') {
    const ids = listOf(message['tool_calls']).map((call) => objectOf(call)['id']);
    return seal.isSealed(stringOf(detail['data'])) && ids.includes(detail['id'] ?? null);
  }
  if (detail['format'] !== 'anthropic-claude-v1') return true;
  const [bound = '', signed = ''] = stringOf(detail['signature']).split('.');
  return bound === prefix && seal.isSigned(`${bound}:${stringOf(detail['text'])}`, signed);
}

/** What the router, or the vendor behind it, refuses in details that are sent back. */
export function* detailRules(
  body: JsonObject,
  message: JsonObject,
  index: number,
  context: ValidationContext,
): Refusals {
  if (message['reasoning_details'] === undefined) return;
  const at = `messages[${index}].reasoning_details`;
  if (!isRouted(body)) yield unknownField(at);
  for (const detail of listOf(message['reasoning_details']).map(objectOf)) {
    if (!isSound(detail, message, prefixOf(body, index), context))
      yield refusal('Invalid `signature` in `thinking` block', at, null);
  }
}
