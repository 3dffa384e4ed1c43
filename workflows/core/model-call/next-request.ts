/** What the next model call sends beside the transcript. All of it is sent once: the reply empties it (R-ERR-1). */
import type { NextRequest } from './ports';

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
