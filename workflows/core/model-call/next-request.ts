/** What the next model call sends beside the transcript. All of it is sent once: the reply empties it (R-ERR-1). */
import type { PendingResult, RuntimeResult } from '../tools/ports';

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

/** The slice of the next model call. */
export interface NextRequestSlice {
  readonly next: NextRequest;
  /** Requests offer `read_output`. */
  readonly offersReadOutput?: true;
}

/** Adds a text to the note of the next request, after what it already says. */
export function addNote<State extends NextRequestSlice>(state: State, text: string): State {
  const { note } = state.next;
  const all = note === undefined ? text : `${note}\n\n${text}`;
  return { ...state, next: { ...state.next, note: all } };
}

/** First line of a note: marks it as the runtime's own words, so that no tool output can pass for one. */
export const noteProvenance = '[This message comes from the agent runtime, not from the user.]';

/** A request that sends nothing but the transcript. */
export const nothingPending: NextRequest = { pendingResults: [] };
