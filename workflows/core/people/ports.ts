/** The activities `checkEdit` and `notify` as the core sees them. */
import type { JsonObject } from '../json';
import type { ContentHash } from '../message';
import type { ProposedToolCall } from '../tools/ports';

/** What a person is told when a run begins to wait for one. All of it is bounded and sanitised. */
export interface PersonNotice {
  readonly kind: 'escalation' | 'question' | 'approval';
  /** Id of the question or approval that the answer names. */
  readonly itemId: string;
  readonly agent: string;
  readonly goal: string;
  /** What is asked. */
  readonly asked: string;
  readonly lastError?: string;
  /** What was tried, newest last. */
  readonly worked: readonly string[];
  readonly didNotWork: readonly string[];
  readonly iteration: number;
  readonly route?: string;
  readonly sinceMs: number;
}

/** Input of the activity that tells people. */
export interface NotifyInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  /** Names of the worker's notifiers. */
  readonly notifiers: readonly string[];
  /** Stable over attempts, workers and segments, so that receivers can tell repeats. */
  readonly idempotencyKey: string;
  readonly notice: PersonNotice;
}

/** Who was told, and who could not be. */
export interface NotifyResult {
  readonly delivered: readonly string[];
  readonly failed: readonly { readonly notifier: string; readonly message: string }[];
}

/** Input of the check of arguments that a person changed before approving. */
export interface CheckEditInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  readonly toolCallId: string;
  readonly name: string;
  /** What the person wants to run. */
  readonly input: JsonObject;
  /** What the model asked for. */
  readonly original?: JsonObject;
  readonly originalBlob?: ContentHash;
}

/** Whether changed arguments can run: what is wrong with them, or the call as it then is. */
export type CheckEditResult =
  | { readonly type: 'refused'; readonly problems: string }
  | {
      readonly type: 'accepted';
      readonly call: Pick<
        ProposedToolCall,
        | 'label'
        | 'input'
        | 'inputBlob'
        | 'fingerprint'
        | 'alike'
        | 'editedFile'
        | 'privileged'
        | 'editNotice'
        | 'approvalDigest'
      >;
    };
