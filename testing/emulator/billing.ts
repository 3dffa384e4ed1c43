/** Counts and bills tokens as the vendors do, prompt caches included. */
import { createHash } from 'node:crypto';
import { countTokens as countByTable } from 'gpt-tokenizer/encoding/o200k_base';
import type { Usage } from '../../workflows/core/budget/spend';
import { addUsage, noUsage } from '../../workflows/core/budget/spend';
import { billedPicoUsd } from './price-list';
import type { PromptBlock, WireName } from './wire';

/** Tokens by which a vendor wraps each block (role and separators; OpenAI's cookbook says 3). */
const tokensPerBlock = 3;
/** How far before a breakpoint Anthropic looks for an earlier cache entry (prompt caching guide: 20 blocks). */
const lookbackBlocks = 20;
/** OpenAI caches prompts from 1,024 tokens on, in steps of 128 (prompt caching guide). */
const openAiMinimum = 1024;
const openAiStep = 128;
/** Longest piece given to the tokenizer at once: its time grows with the square of an unbroken run. */
const pieceCharacters = 4096;
/** Entries after which remembered counts are dropped. */
const rememberedCounts = 50_000;

const remembered = new Map<string, number>();

/** Tokens of a text by the o200k table; the same text always counts the same. */
export function countTokens(text: string): number {
  if (text === '') return 0;
  const key =
    text.length > 128 ? createHash('sha256').update(text).digest('base64') : `text:${text}`;
  const known = remembered.get(key);
  if (known !== undefined) return known;
  let tokens = 0;
  for (let start = 0; start < text.length; start += pieceCharacters) {
    tokens += countByTable(text.slice(start, start + pieceCharacters), {
      disallowedSpecial: new Set(),
    });
  }
  if (remembered.size >= rememberedCounts) remembered.clear();
  remembered.set(key, tokens);
  return tokens;
}

interface CountedBlock {
  readonly tokens: number;
  /** Hash of the prompt up to and including this block. */
  readonly prefix: string;
  readonly breakpoint: boolean;
}

function textWithoutImages(text: string): string {
  return text.replace(/"(data|url|image_url|file_data)":"[A-Za-z0-9+/=:;,-]{512,}"/g, '"$1":""');
}

function tableTokens({ text, extraTokens }: PromptBlock): number {
  const counted = extraTokens > 0 ? textWithoutImages(text) : text;
  return countTokens(counted) + extraTokens + tokensPerBlock;
}

function countBlocks(blocks: readonly PromptBlock[]): readonly CountedBlock[] {
  let prefix = '';
  return blocks.map((block) => {
    prefix = createHash('sha256').update(prefix).update(block.text).digest('base64');
    return {
      tokens: tableTokens(block),
      prefix,
      breakpoint: block.breakpoint,
    };
  });
}

function sumTo(blocks: readonly CountedBlock[], end: number): number {
  return blocks.slice(0, end).reduce((sum, block) => sum + block.tokens, 0);
}

/** The vendors' prompt caches: what was sent before, by model. */
export class PromptCache {
  readonly #seen = new Map<string, Set<string>>();

  /** Input side of the bill. Contract: call once per request that the vendor works on; it remembers the prompt. */
  price(wire: WireName, model: string, blocks: readonly PromptBlock[]): Usage {
    const counted = countBlocks(blocks);
    const key = `${wire}/${model}`;
    const seen = this.#seen.get(key) ?? new Set<string>();
    this.#seen.set(key, seen);
    return wire === 'anthropic' ? byBreakpoints(counted, seen) : byPrefix(counted, seen);
  }
}

function byBreakpoints(blocks: readonly CountedBlock[], seen: Set<string>): Usage {
  const total = sumTo(blocks, blocks.length);
  const ends = blocks.flatMap((block, index) => (block.breakpoint ? [index + 1] : []));
  const readEnd = Math.max(0, ...ends.map((end) => longestSeen(blocks, end, seen)));
  for (const { breakpoint, prefix } of blocks) if (breakpoint) seen.add(prefix);
  const read = sumTo(blocks, readEnd);
  const written = sumTo(blocks, ends.at(-1) ?? 0) - read;
  return {
    ...noUsage,
    inputTokens: total - read - written,
    cacheReadTokens: read,
    cacheWriteTokens: written,
  };
}

function byPrefix(blocks: readonly CountedBlock[], seen: Set<string>): Usage {
  const total = sumTo(blocks, blocks.length);
  const fresh = blocks.findIndex(({ prefix }) => !seen.has(prefix));
  const shared = sumTo(blocks, fresh < 0 ? blocks.length : fresh);
  for (const { prefix } of blocks) seen.add(prefix);
  const read = shared < openAiMinimum ? 0 : Math.floor(shared / openAiStep) * openAiStep;
  return { ...noUsage, inputTokens: total - read, cacheReadTokens: read };
}

function longestSeen(
  blocks: readonly CountedBlock[],
  breakpoint: number,
  seen: ReadonlySet<string>,
): number {
  for (let end = breakpoint; end > 0 && end > breakpoint - lookbackBlocks; end -= 1) {
    if (seen.has(blocks[end - 1]?.prefix ?? '')) return end;
  }
  return 0;
}

/** Input tokens of a prompt, caches aside. */
export function promptTokens(blocks: readonly PromptBlock[]): number {
  const counted = countBlocks(blocks);
  return sumTo(counted, counted.length);
}

/** What every model has cost so far. */
export class Bill {
  readonly #byModel = new Map<string, Usage>();
  readonly #unpriced = new Set<string>();
  #picoUsd = 0;

  /** Adds what one request consumed. */
  charge(model: string, usage: Usage): void {
    this.#byModel.set(model, addUsage(this.of(model), usage));
    const picoUsd = billedPicoUsd(model, usage);
    if (picoUsd === undefined) this.#unpriced.add(model);
    else this.#picoUsd += picoUsd;
  }

  /** US dollars of all requests together. Errors: throws if a model without a price was called. */
  get usd(): number {
    if (this.#unpriced.size > 0)
      throw new Error(
        `The emulator's price list has no ${[...this.#unpriced].join(', ')}; read \`bill.byModel\` instead.`,
      );
    return this.#picoUsd / 10 ** 12;
  }

  /** Totals of one model. */
  of(model: string): Usage {
    return this.#byModel.get(model) ?? noUsage;
  }

  /** Totals of all models together. */
  get total(): Usage {
    return [...this.#byModel.values()].reduce(addUsage, noUsage);
  }

  /** Totals by model. */
  get byModel(): Readonly<Record<string, Usage>> {
    return Object.fromEntries(this.#byModel);
  }
}
