/** What every wire's reader of a stream has in common. */
import type { AssistantMessage } from '../../../workflows/core/message';
import type { BrokenReply, ModelReply, RawToolCall } from '../provider';

/** A block of a reply that is no tool call. */
export type SaidBlock = Exclude<AssistantMessage['blocks'][number], { type: 'tool-call' }>;

/** What one event of a stream meant. */
export interface EventMeaning {
  /** It carried something new: it feeds the deadline between two pieces of content. */
  readonly isContent: boolean;
  /** The model has begun a thought and not ended it: newer ones say nothing of it until it is done. */
  readonly isThinking?: boolean;
  /** Text of the answer in it. */
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
  /** The vendor's closing event has come: the reply is whole. */
  readonly isComplete: boolean;
  /** Number of events taken. */
  readonly eventCount: number;
  /** What has come so far, at any time. */
  partial(): Omit<BrokenReply, 'wasAccepted'>;
  /** The reply. Contract: only after `isComplete`. */
  reply(): ModelReply;
}

/** Events that no honest stream has: an index used twice, a delta for a block that never began. */
export class BrokenStream extends Error {
  constructor(found: string) {
    super(found);
    this.name = 'BrokenStream';
  }
}

/** An error that the vendor reported inside a stream; `error` is its error object. */
export class ReportedInStream extends Error {
  constructor(
    readonly error: unknown,
    found = 'the vendor reported an error inside the stream',
  ) {
    super(found);
    this.name = 'ReportedInStream';
  }
}

/** An event that carried nothing. */
export const noContent: EventMeaning = { isContent: false };

/** A tool call as it leaves the adapter: a call without parameters has no argument text on some wires. */
export function rawToolCall(vendorId: string, name: string, argumentsText: string): RawToolCall {
  return { vendorId, name, argumentsText: argumentsText.trim() === '' ? '{}' : argumentsText };
}
