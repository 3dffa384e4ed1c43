/** What the next model call sends beside the transcript. All of it is sent once: the reply empties it (R-ERR-1). */
import { defined, without } from '../json';
import type { NextRequest } from './ports';

/** The slice of the next model call. */
export interface NextRequestSlice {
  readonly next: NextRequest & {
    /** What the note says about the newest step's trouble: stale once a recovery call worked. It comes first. */
    readonly troubleNote?: string;
  };
  /** Requests offer `read_output`. */
  readonly offersReadOutput?: true;
}

function joined(texts: readonly (string | undefined)[]): string | undefined {
  const all = texts.filter((text) => text !== undefined);
  return all.length === 0 ? undefined : all.join('\n\n');
}

/** Adds a text to the note of the next request, after what it already says. */
export function addNote<State extends NextRequestSlice>(state: State, text: string): State {
  return {
    ...state,
    next: { ...state.next, ...defined({ note: joined([state.next.note, text]) }) },
  };
}

/** The same for a text about the newest step's trouble. */
export function addTroubleNote<State extends NextRequestSlice>(state: State, text: string): State {
  const troubleNote = joined([state.next.troubleNote, text]);
  return { ...state, next: { ...state.next, ...defined({ troubleNote }) } };
}

/** Drops what the note says about the trouble. */
export function dropTroubleNote<State extends NextRequestSlice>(state: State): State {
  return { ...state, next: without(state.next, 'troubleNote') };
}

/** The note of the next request; undefined if it has none. */
export function wholeNote({ next }: NextRequestSlice): string | undefined {
  return joined([next.troubleNote, next.note]);
}

/** First line of a note: marks it as the runtime's own words, so that no tool output can pass for one. */
export const noteProvenance = '[This message comes from the agent runtime, not from the user.]';

/** A request that sends nothing but the transcript. */
export const nothingPending: NextRequest = { pendingResults: [] };
