/** Names content by its SHA-256, so that content can be checked against its name. */
import { createHash } from 'node:crypto';
import type { ContentHash, Head } from '../../workflows/core/message';

export { canonicalJson, maxJsonDepth } from '../../workflows/core/canonical-json';

/** SHA-256 of the parts in sequence, base64url, 43 characters. */
export function contentHash(...parts: readonly (string | Uint8Array)[]): ContentHash {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('base64url');
}

/**
 * Name of a transcript node.
 *
 * Contract: `messagesJson` is canonical JSON of an array; as it begins with `[`, which no hash contains,
 * no other parent and messages give the same bytes.
 */
export function nodeHash(parent: Head | undefined, messagesJson: string): Head {
  return contentHash(parent ?? '', messagesJson);
}

/** True for text that can be the name of content. */
export function isContentHash(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}
