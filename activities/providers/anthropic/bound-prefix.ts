/** Binds a thought to its conversation: newer Claude models refuse a thought whose prefix has changed. */
import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import type Anthropic from '@anthropic-ai/sdk';
import type { AssistantMessage } from '../../../workflows/core/message';
import type { ModelReply } from '../provider';
import { asText } from '../untrusted-json';

/** Key of a reasoning block under which the digest of its prefix is kept. */
const prefixKey = 'prefix';

/**
 * Digest of a growing prompt: system prompt, tools and messages, without thoughts and cache marks, which the vendor ignores too.
 *
 * Source: ADR 0016.
 */
export class BoundPrefix {
  readonly #hash: Hash;

  constructor(system: string, tools: readonly Anthropic.Tool[]) {
    this.#hash = createHash('sha256').update(JSON.stringify([system, tools.map(bare)]));
  }

  /** Adds a turn. */
  add(role: string, content: readonly { readonly type: string }[]): void {
    for (const block of content)
      if (!block.type.endsWith('thinking')) this.#hash.update(JSON.stringify([role, bare(block)]));
  }

  /** The digest so far. */
  get digest(): string {
    return this.#hash.copy().digest('base64url');
  }

  /** False if one of the message's thoughts has another prefix. A thought without a prefix fits. */
  holds(message: AssistantMessage): boolean {
    const prefixes = message.blocks.flatMap((block) => {
      const prefix = block.type === 'reasoning' ? asText(block.opaque?.[prefixKey]) : '';
      return prefix === '' ? [] : [prefix];
    });
    if (prefixes.length === 0) return true;
    const { digest } = this;
    return prefixes.every((prefix) => prefix === digest);
  }
}

/** The block without its cache mark, which moves from request to request. */
function bare(block: object): object {
  return { ...block, cache_control: undefined };
}

/** The reply, in which each thought has the prefix of its request. */
export function withPrefix(reply: ModelReply, prefix: string): ModelReply {
  return {
    ...reply,
    blocks: reply.blocks.map((block) =>
      block.type === 'reasoning'
        ? { ...block, opaque: { ...block.opaque, [prefixKey]: prefix } }
        : block,
    ),
  };
}
