/** Binds a thought to its conversation: newer Claude models refuse a thought whose prefix has changed, on any router. */
import { createHash } from 'node:crypto';
import type { ReasoningBlock } from '../../../workflows/core/message';
import type { ModelReply, ModelRequest } from '../provider';
import { asText } from '../untrusted-json';
import { noteOf } from './well-formed';

/** Key of a reasoning block under which the digest of its prefix is kept. */
const prefixKey = 'prefix';

/**
 * Digest of a growing prompt: system prompt, tools and messages, without thoughts and cache marks, which the vendor ignores too.
 *
 * Source: ADR 0016.
 */
export class BoundPrefix {
  readonly #hash = createHash('sha256');

  /** Adds the next part. */
  add(part: unknown): void {
    this.#hash.update(JSON.stringify(part));
  }

  /** The digest so far. */
  get digest(): string {
    return this.#hash.copy().digest('base64url');
  }

  /** False if the thought has another prefix. A thought without a prefix fits. */
  holds({ opaque }: ReasoningBlock): boolean {
    const prefix = asText(opaque?.[prefixKey]);
    return prefix === '' || prefix === this.digest;
  }
}

/**
 * The reply, in which each bound thought has the prefix of its request. No later request has a note, so a thought that answered
 * one is left out: it would be refused.
 *
 * Source: ADR 0016.
 */
export function boundReply(
  reply: ModelReply,
  request: ModelRequest,
  prefixOf: () => string,
  isBound: (thought: ReasoningBlock) => boolean = () => true,
): ModelReply {
  if (!reply.blocks.some((block) => block.type === 'reasoning' && isBound(block))) return reply;
  const prefix = noteOf(request) === undefined ? prefixOf() : undefined;
  const blocks = reply.blocks.flatMap((block) => {
    if (block.type !== 'reasoning' || !isBound(block)) return [block];
    if (prefix === undefined) return [];
    return [{ ...block, opaque: { ...block.opaque, [prefixKey]: prefix } }];
  });
  return { ...reply, blocks };
}
