/** What the readers of all streams have in common. */
import type { Usage } from '../../../workflows/core/budget/spend';
import type { StopReason } from '../../../workflows/core/model-call/ports';
import type { BrokenReply, ModelReply, RawToolCall } from '../provider';
import { asCount, property } from '../untrusted-json';

/** A block of a reply, other than a tool call. */
export type SaidBlock = ModelReply['blocks'][number];

/** What one event of a stream meant. */
export interface EventMeaning {
  /** It carried something new, which resets the deadline for the next piece of content. */
  readonly isContent: boolean;
  /** The model is thinking; newer models send nothing until a thought is complete. */
  readonly isThinking?: boolean;
  /** Text of the answer. */
  readonly text?: string;
}

/** Gathers one reply from its events. */
export interface StreamAssembly {
  /**
   * Takes one event.
   *
   * Errors: throws what the vendor reported inside the stream, or `BrokenStream` for events that contradict each other.
   */
  accept(event: unknown): EventMeaning;
  /** Takes an answer that came as one JSON body although a stream was asked for; undefined if it is no reply. Errors: as `accept`. */
  acceptWhole(body: unknown): EventMeaning | undefined;
  /** The vendor's closing event has arrived: the reply is complete. */
  readonly isComplete: boolean;
  /** What has arrived so far. */
  partial(): Omit<BrokenReply, 'reach'>;
  /** The reply. Contract: only after `isComplete`. */
  reply(): ModelReply;
}

/** Thrown for events that contradict each other: an index used twice, a delta for a block that never began. */
export class BrokenStream extends Error {
  constructor(found: string) {
    super(found);
    this.name = 'BrokenStream';
  }
}

/** Thrown for an error that the vendor reported inside a stream; `error` is its error object. */
export class ReportedInStream extends Error {
  constructor(readonly error: unknown) {
    super('the vendor reported an error inside the stream');
    this.name = 'ReportedInStream';
  }
}

/** An event that carried nothing. */
export const noContent: EventMeaning = { isContent: false };

/** A tool call as the adapter returns it. Some vendors send no argument text for a call without parameters. */
export function rawToolCall(vendorId: string, name: string, argumentsText: string): RawToolCall {
  return { vendorId, name, argumentsText: argumentsText.trim() === '' ? '{}' : argumentsText };
}

/** The blocks of an answer's text and refusal, unless they are empty. */
export function answerBlocks(text: string, refusal: string): readonly SaidBlock[] {
  const blocks = [{ type: 'text', text } as const, { type: 'refusal', text: refusal } as const];
  return blocks.filter((block) => block.text !== '');
}

/** Maps a vendor's words to stop reasons; the words of each reason are separated by blanks. */
export function stopReasonsBy(
  words: Partial<Readonly<Record<StopReason, string>>>,
): ReadonlyMap<string, StopReason> {
  const rows = Object.entries(words) as [StopReason, string][];
  return new Map(rows.flatMap(([reason, text]) => text.split(' ').map((word) => [word, reason])));
}

/** The stop reason in view of the tool calls: a complete reply with calls is `tool-use`, whatever its vendor says. */
export function withCalls(reason: StopReason, hasCalls: boolean): StopReason {
  return hasCalls && (reason === 'end' || reason === 'pause') ? 'tool-use' : reason;
}

/** A vendor's counts in OpenAI's terms, as received. */
export interface ReportedUsage {
  readonly input: unknown;
  readonly output: unknown;
  /** Of input and output together. */
  readonly total?: unknown;
  readonly details: unknown;
  readonly cacheHits?: unknown;
}

/**
 * Usage in OpenAI's terms, where cached tokens are part of the input: where there are more of them, they are not.
 *
 * Gemini and Grok leave thoughts out of the output, and count them in the total: what is more there is output.
 */
export function usageOf({ input, output, total, details, cacheHits }: ReportedUsage): Usage {
  const cacheReadTokens = asCount(property(details, 'cached_tokens')) ?? asCount(cacheHits) ?? 0;
  const cacheWriteTokens = asCount(property(details, 'cache_write_tokens')) ?? 0;
  const cached = cacheReadTokens + cacheWriteTokens;
  const known = asCount(input);
  const prompt = known ?? 0;
  // Without a count of the input, the total says nothing about the output.
  const counted = known === undefined ? 0 : (asCount(total) ?? 0) - prompt;
  return {
    inputTokens: cached > prompt ? prompt : prompt - cached,
    outputTokens: Math.max(asCount(output) ?? 0, counted),
    cacheReadTokens,
    cacheWriteTokens,
  };
}
