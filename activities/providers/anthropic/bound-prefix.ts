/** Which conversation a thought belongs to: newer Claude models refuse one whose prefix has changed since it was thought. */
import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import type Anthropic from '@anthropic-ai/sdk';
import type { AssistantMessage } from '../../../workflows/core/message';
import type { ModelReply } from '../provider';
import { asText } from '../untrusted-json';

/** Where a reasoning block keeps the digest of its prefix. */
const prefixKey = 'prefix';

/**
 * Digest of a growing prompt: system prompt, tools and messages, without thoughts and cache marks, which the vendor leaves out
 * as well.
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

  /** False if one of the message's thoughts was thought behind another prefix. A thought that does not say is taken to fit. */
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

/** The reply, each thought with the prefix of the request that it answered. */
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
