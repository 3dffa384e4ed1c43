/** The activities of learning as the core sees them. */
import type { AgentErrorCode } from '../failure';
import type { JsonObject } from '../json';
import type { ContentHash, Head } from '../message';

/** An error of a run and what became of it; the activity that carries it looks the calls up in the transcript. */
export interface ObservedError {
  /** Unique in all runs. */
  readonly key: string;
  /** Tool whose call failed; empty if the reply as a whole was wrong. */
  readonly tool: string;
  readonly code: AgentErrorCode;
  readonly message: string;
  /** The call that failed, if any. */
  readonly callId?: string;
  /** Its input, if the call is not in the transcript. */
  readonly inputBlob?: ContentHash;
  readonly fixedBy: 'model' | 'action' | 'person' | 'none';
  /** The call that worked; with `none`, the attempt that did not help. */
  readonly fix?: {
    readonly tool: string;
    readonly callId?: string;
    /** Of a call that the runtime issued, which is not in the transcript; short ones only. */
    readonly input?: JsonObject;
  };
  /** Learned pattern that the recovery action came from. */
  readonly patternId?: string;
  readonly atMs: number;
}

/** Input of the activity that records what a run's end left. */
export interface RecordObservationsInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  readonly head: Head;
  readonly observations: readonly ObservedError[];
}

/** The result of an extraction of patterns. */
export interface ExtractionReport {
  readonly tenants: number;
  readonly observations: number;
  readonly patterns: number;
  /** Of the patterns, those that are used. */
  readonly active: number;
}
