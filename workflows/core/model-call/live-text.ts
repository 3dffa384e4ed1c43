/** The text of a model call in progress, for people: it may be lost, and decides nothing (ADR 0062). */

/** What `events` gives beside the timeline if it is asked for text: a new attempt, or another route, begins the text of its iteration again. */
export interface TextDelta {
  readonly type: 'TextDelta';
  /** An entry of the timeline has an id; text has none, since nobody can come back to it. */
  readonly id?: never;
  readonly runId: string;
  readonly iteration: number;
  /** 1 for the first attempt of a call on its route. */
  readonly attempt: number;
  /** `provider/model`. */
  readonly route: string;
  /**
   * Where `text` belongs in the text of this iteration, in UTF-16 units: it replaces what was there and behind. 0 begins the
   * text again: a retry, another route, or words that turned out to be a thought.
   */
  readonly offset: number;
  readonly text: string;
}

/** A piece of a text, as a store keeps it while the run is watched. */
export interface TextPiece extends Omit<TextDelta, 'type' | 'id' | 'runId'> {
  /** The attempt to which it belongs. */
  readonly call: string;
  /** Counts the pieces of the attempt, from 1. */
  readonly number: number;
}

/** The last piece that a reader has. */
export type TextCursor = Pick<TextPiece, 'call' | 'number'>;

/** Where a client finds the text of model calls: a `Store`. */
export interface LiveTextSource {
  /** The store's id, by which a run names its store. */
  readonly id: string;
  /** For people. */
  readonly label: string;
  /** @internal */
  readonly liveTexts: {
    /** Says that somebody watches the run, and returns the pieces behind the cursor, of the newest attempt, in order. */
    watch(runKey: string, cursor: TextCursor | undefined): Promise<readonly TextPiece[]>;
  };
}

/** What names the newest text of a run in a store that several namespaces may share. */
export function liveTextKey(namespace: string, runId: string): string {
  return `${namespace}/${runId}`;
}
