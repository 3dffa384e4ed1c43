/** Binds a thought to its conversation: newer Claude models refuse a thought whose prefix has changed, on any router. */
import { createHash } from 'node:crypto';
import type { ReasoningBlock } from '../../../workflows/core/message';
import type { ModelReply, ModelRequest } from '../provider';
import { asText } from '../untrusted-json';
import { perObject } from './per-object';
import { noteOf } from './well-formed';

/** Key of a reasoning block under which the digest of its prefix is kept. */
const prefixKey = 'prefix';

/** What the digest became by a part, and what it was before. */
interface Link {
  readonly before: string;
  readonly after: string;
}

/** The links of each scope, for as long as the parts live. */
const linksOf = perObject<object, WeakMap<object, Link>>(() => new WeakMap());

/** A part of a prompt: what it was made of, and its form on the wire. */
export interface PromptPart {
  readonly source: object;
  readonly sent: () => unknown;
}

/**
 * Digest of a growing prompt: system prompt, tools and messages, without thoughts and cache marks, which the vendor ignores too.
 *
 * Contract: the digest of a part is made of the one before it and the part, only when it is asked for, and only once for the same
 * source behind the same prompt. In one scope, the same sources in the same sequence are sent in the same form.
 * Source: ADR 0016, ADR 0050.
 */
export class BoundPrefix<Message> {
  readonly #links: WeakMap<object, Link>;
  #digest: string | undefined;
  #added: Message[] = [];

  constructor(
    scope: object,
    private readonly first: () => unknown,
    private readonly partsOf: (message: Message) => readonly PromptPart[],
  ) {
    this.#links = linksOf(scope);
  }

  /** Adds the next message. */
  add(message: Message): void {
    this.#added.push(message);
  }

  /** The digest so far. */
  get digest(): string {
    this.#digest = this.#added
      .flatMap((message) => this.partsOf(message))
      .reduce(
        (before, part) => this.#after(before, part),
        this.#digest ?? digestOf('', this.first()),
      );
    this.#added = [];
    return this.#digest;
  }

  #after(before: string, { source, sent }: PromptPart): string {
    const known = this.#links.get(source);
    if (known?.before === before) return known.after;
    const after = digestOf(before, sent());
    this.#links.set(source, { before, after });
    return after;
  }

  /** False if the thought has another prefix. A thought without a prefix fits. */
  holds({ opaque }: ReasoningBlock): boolean {
    const prefix = asText(opaque?.[prefixKey]);
    return prefix === '' || prefix === this.digest;
  }
}

function digestOf(before: string, part: unknown): string {
  return createHash('sha256').update(before).update(JSON.stringify(part)).digest('base64url');
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
