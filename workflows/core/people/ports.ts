/** The activity `checkEdit` as the core sees it. */
import type { JsonObject } from '../json';
import type { ContentHash, DefinitionReference } from '../message';
import type { ProposedToolCall } from '../tools/ports';

/** Input of the check of arguments that a person changed before approving. */
export interface CheckEditInput extends DefinitionReference {
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
      readonly call: Omit<ProposedToolCall, 'toolCallId' | 'name' | 'error' | 'answer'>;
    };
