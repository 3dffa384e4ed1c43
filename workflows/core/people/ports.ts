/** The activity `checkEdit` as the core sees it. */
import type { JsonObject } from '../json';
import type { ContentHash, DefinitionReference } from '../message';
import type { ProposedToolCall } from '../tools/ports';

/** A decision on an approval, as its signature covers it. */
export interface Decision {
  readonly approvalId: string;
  /** Digest of the action that the person saw. */
  readonly digest: string;
  readonly decision: 'approve' | 'reject';
  /** Of an approval with other arguments: SHA-256 of their canonical JSON, base64url. */
  readonly inputDigest?: string;
  /** Of a rejection. */
  readonly reason?: string;
  readonly by?: string;
}

/** Input of the check of a decision: of its signature, and of the arguments that a person changed before approving. */
export interface CheckEditInput extends DefinitionReference {
  readonly toolCallId: string;
  readonly name: string;
  /** What the person wants to run; absent if that is what the model asked for, or nothing. */
  readonly input?: JsonObject;
  /** Of a run that takes signed decisions only: what was decided, and the signature to verify. */
  readonly signed?: Omit<Decision, 'approvalId' | 'inputDigest'> & {
    readonly runKey: string;
    readonly signature?: string;
  };
  /** What the model asked for. */
  readonly original?: JsonObject;
  readonly originalBlob?: ContentHash;
  /** With `input`: digest of the action that the person saw. */
  readonly shownDigest?: ContentHash;
}

/** Whether a decision can apply: what is wrong with it, or, for changed arguments, the call as it then is. */
export type CheckEditResult =
  | { readonly type: 'refused'; readonly problems: string }
  | {
      readonly type: 'accepted';
      readonly call?: Omit<ProposedToolCall, 'toolCallId' | 'name' | 'error' | 'answer'>;
    };
