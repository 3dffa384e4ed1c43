/** The activity `callModel` as the core sees it: its input and its results. */
import type { ActivityTimes } from '../activity-times';
import type { Said } from '../message';
import type { Allowance, CallSpend, EstimatedSpend, Usage } from '../budget/spend';
import type { ContextBounds, ContextMeasure } from '../context/measure';
import type { CountedContext, TokenFactors } from '../context/token-factors';
import type { AgentError, ThoughtReplay } from '../failure';
import type { JsonValue } from '../json';
import type { ObservedError } from '../learning/ports';
import type { ContentHash, DefinitionReference, Head } from '../message';
import type { PendingResult, ProposedToolCall, RuntimeResult } from '../tools/ports';

/** What the next model call sends beside the transcript. */
export interface NextRequest {
  readonly pendingResults: readonly PendingResult[];
  /** What the runtime itself ran since the last call, to append behind the results. */
  readonly runtimeResults?: readonly RuntimeResult[];
  /** Ephemeral: the last user message of this request only, never stored. */
  readonly note?: string;
  /** Replaces the route's `maxOutputTokens` for this call. */
  readonly maxOutputTokens?: number;
}

/** Input of a model call. */
export interface CallModelInput extends DefinitionReference, Partial<NextRequest> {
  readonly head: Head;
  /** Place of the route in the run's chain. */
  readonly routeIndex: number;
  /** The route is still recovering: only one prober of all runs may try it, once. */
  readonly probe?: true;
  readonly iteration: number;
  /** Prefix of the ids of the tool calls in this reply: `<prefix>_<iteration>_<index>`. */
  readonly idPrefix: string;
  /** How the route takes the model's own thoughts, as an earlier refusal showed. */
  readonly thoughts?: ThoughtReplay;
  /** The route has refused to enforce the form of a reply. */
  readonly unstructured?: true;
  /** What people said, which joins the transcript before this call. */
  readonly userTexts?: readonly Said[];
  /** Errors that ended since the last call, to be recorded. */
  readonly endedErrors?: readonly ObservedError[];
  /** What this call, all its attempts together, may spend. */
  readonly allowance?: Allowance;
  /** What a vendor last counted of this transcript, as the last call on this route returned it. */
  readonly counted?: CountedContext;
  /** Vendor's tokens per token of ours on this route, as learned so far. */
  readonly tokenFactors?: TokenFactors;
  /** The request is measured and held back where it exceeds them; absent: the usual ones of the route. */
  readonly bounds?: ContextBounds;
  /** Blob with the run's facts: history has it in place of them (`SentModelCall`). */
  readonly run?: ContentHash;
}

/** The same in history: the facts of the run are in the store, and what is as usual is left out. */
export interface SentModelCall extends Omit<
  CallModelInput,
  'storeId' | 'definition' | 'idPrefix' | 'routeIndex' | 'pendingResults'
> {
  readonly run: ContentHash;
  /** Absent: 0. */
  readonly routeIndex?: number;
  /** `isError` only where true; `toolCallId` only where it is not that of the call at this place in the iteration before. */
  readonly pendingResults?: readonly (Omit<PendingResult, 'isError' | 'toolCallId'> & {
    readonly toolCallId?: string;
    readonly isError?: true;
  })[];
}

/** Why the model stopped, in neutral words. A cut stream is a failure, never a stop reason. */
export type StopReason =
  | 'end'
  | 'tool-use'
  | 'truncated'
  /** Cut off because the model's window was full. */
  | 'context-full'
  | 'refusal'
  | 'pause'
  | 'filtered';

/** A reply that arrived whole. */
export interface CallModelResult extends ActivityTimes {
  /** Transcript before the reply: pending results and user texts appended. */
  readonly headBefore: Head;
  /** Transcript with the reply; equal to `headBefore` where the reply holds nothing that could be kept. */
  readonly head: Head;
  readonly stopReason: StopReason;
  readonly toolCalls: readonly ProposedToolCall[];
  /** The vendor continues the turn from its own blocks: no message may stand behind it. */
  readonly isOpen?: true;
  /** A mistake of the reply as a whole (a cut call; a call written as text; text protocol: no call, bad JSON, no tool name). */
  readonly error?: AgentError;
  /** The mistake is a call written as text on a route with native calls. */
  readonly wroteCall?: true;
  /** The request offered `read_output`, and so will every later one. */
  readonly offersReadOutput?: true;
  /** Head of the reply's text. */
  readonly textPreview: string;
  /** The reply's whole text up to `answerBytes`, only if it called no tool; what is cut says so. */
  readonly answer?: string;
  /** What the answer says, if it must have a form: JSON that fits the agent's output schema. */
  readonly output?: JsonValue;
  /** Of the reply alone; our own count where the vendor's cannot be true (ADR 0047). */
  readonly usage: Usage;
  /** What all attempts of this call consumed, this reply included; absent if it is just `usage` at the route's price. */
  readonly spend?: CallSpend;
  /** Tokens of the request as the vendor counted them, or as they were measured where its count cannot be true. */
  readonly contextTokens: number;
  /** The vendor's count where it shows that the vendor cuts its prompts and does not say so (R-CTX-11). */
  readonly cutToTokens?: number;
  /** Tokens of the request as they were measured before it went out; absent if that was `contextTokens`. */
  readonly estimatedTokens?: number;
  /** What the next call on this route may build its measure on. */
  readonly counted?: CountedContext;
  /** The route's factors after what this call taught (`learnFactors`); the next call on this route takes them. */
  readonly tokenFactors?: TokenFactors;
  /** The request in parts, from the warning threshold on. */
  readonly measure?: ContextMeasure;
  /** Images and documents of the conversation that the model did not get, each with why; absent if it got all. */
  readonly mediaLeftOut?: readonly string[];
  /** Provider failures that this call's attempts healed by retry, in order. */
  readonly healedRetries?: readonly string[];
}

/** A reply in history: what is empty, zero or follows from the rest is left out (`sent-call.ts`). */
export interface SentReply extends Omit<
  CallModelResult,
  'stopReason' | 'toolCalls' | 'textPreview' | 'usage' | 'spend' | 'contextTokens'
> {
  readonly stopReason?: StopReason;
  /** Without the ids that follow from their places. */
  readonly toolCalls?: readonly (Omit<ProposedToolCall, 'toolCallId'> & {
    readonly toolCallId?: string;
  })[];
  readonly textPreview?: string;
  readonly usage: SentUsage;
  readonly spend?: SentSpend;
  readonly contextTokens?: number;
}

/** Classes of tokens that are zero are left out. */
export type SentUsage = Partial<Usage>;

/** Without `usage`: just that of the reply. Estimates that are zero, or all of the tokens, are left out. */
export interface SentSpend extends Omit<CallSpend, 'usage' | 'estimated'> {
  readonly usage?: SentUsage;
  readonly estimated?: Partial<EstimatedSpend>;
}

/** A call whose request did not fit, so that nothing was sent. */
export interface ModelCallHeldBack extends ActivityTimes {
  /** Transcript with pending results and user texts appended. */
  readonly headBefore: Head;
  readonly heldBack: ContextMeasure;
  /** What earlier attempts of this call, whose workers died, consumed; absent if nothing. */
  readonly spend?: CallSpend;
}
