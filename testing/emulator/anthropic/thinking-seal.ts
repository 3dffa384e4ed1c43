/** Anthropic's signature on thinking: whose it is, and which conversation it belongs to. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../../workflows/core/json';
import { blocksOf, listOf, objectOf, stringOf } from '../json-read';
import type { Seal } from '../seal';

/** Thinking itself and cache marks are not part of a prefix (vendor's guide "Preserved thinking"). */
function bareBlocks(message: JsonObject): readonly unknown[] {
  return blocksOf(message['content'])
    .filter((block) => !stringOf(block['type']).endsWith('thinking'))
    .map((block) => [message['role'], { ...block, cache_control: null }]);
}

/** Hash of everything before the message of that index: system, tools, earlier messages. */
export function prefixOf(body: JsonObject, messageIndex: number): string {
  const messages = listOf(body['messages']).slice(0, messageIndex).map(objectOf);
  const bare = (value: JsonObject): JsonObject => ({ ...value, cache_control: null });
  return createHash('sha256')
    .update(JSON.stringify(blocksOf(body['system']).map(bare)))
    .update(JSON.stringify(listOf(body['tools']).map((tool) => bare(objectOf(tool)))))
    .update(JSON.stringify(messages.flatMap(bareBlocks)))
    .digest('base64url');
}

/** Signature of new thinking in the reply to a request, after this many tool calls of the same reply. */
export function signThinking(
  seal: Seal,
  text: string,
  body: JsonObject,
  callsBefore: number,
): string {
  const prefix = prefixOf(body, Infinity);
  return `${prefix}.${callsBefore}.${seal.sign(`${prefix}:${callsBefore}:${text}`)}`;
}

/** What a signature says about a thinking block that is sent back. */
export function checkThinking(
  signature: string,
  text: string,
  seal: Seal,
  prefix: string,
  callsBefore: number,
): 'valid' | 'foreign' | 'moved' | 'bound-elsewhere' {
  const [bound = '', place = '', signed = ''] = signature.split('.');
  if (!seal.isSigned(`${bound}:${place}:${text}`, signed)) return 'foreign';
  if (place !== String(callsBefore)) return 'moved';
  return bound === prefix ? 'valid' : 'bound-elsewhere';
}
