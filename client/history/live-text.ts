/** Adds the text of the model call in progress to a run's timeline, in its place between the facts (ADR 0062). */
import { setTimeout as delay } from 'node:timers/promises';
import type {
  LiveTextSource,
  TextCursor,
  TextDelta,
  TextPiece,
} from '../../workflows/core/model-call/live-text';
import { liveTextKey } from '../../workflows/core/model-call/live-text';
import type { RunState } from '../../workflows/core/run/state';
import { ClientError } from '../client-error';
import type { FoldedPiece } from './read-history';

/** Milliseconds between two questions for text, while a model call is in progress. */
const askEveryMs = 100;
/** Milliseconds for which a store that does not answer may hold up facts. */
const mostAskMs = 500;

/** A piece of a run's timeline, and the text that arrived before it. */
export type PieceWithText = FoldedPiece & { readonly deltas: readonly TextDelta[] };

/** A run, and where its text is. */
export interface TextOrigin {
  readonly source: LiveTextSource;
  readonly namespace: string;
  readonly runId: string;
  /** A run that lives in another store has no text; otherwise it is refused. */
  readonly ofAnyStore: boolean;
}

/**
 * The pieces of a timeline as they are, and between them, while a model call is in progress, its text.
 *
 * Contract: text comes after the start of its iteration and before the reply's entry; none is kept for a reader that is slow,
 * who gets all of it at once. What the store cannot give is lost, and facts never wait for it for more than half a second.
 * Errors: those of the pieces; `invalid-input` for a run that lives in another store, unless any will do.
 */
export async function* withText(
  pieces: AsyncGenerator<FoldedPiece, void>,
  origin: TextOrigin,
): AsyncGenerator<PieceWithText, void> {
  const reader = new TextReader(origin);
  let known: FoldedPiece | undefined;
  for (let next = pieces.next(); ;) {
    // Where the reader leaves in the meantime, nobody is there for its error.
    next.catch(() => undefined);
    const state = known?.folded.state;
    const isOpen = state?.phase.type === 'calling-model' && reader.isHere(state);
    const arrived = await (isOpen ? orAfter(askEveryMs, next) : next);
    const deltas = isOpen ? await reader.read(state) : [];
    if (arrived === undefined) {
      if (known !== undefined && deltas.length > 0)
        yield { entries: [], folded: known.folded, deltas };
      continue;
    }
    if (arrived.done === true) return;
    known = arrived.value;
    yield { ...known, deltas };
    next = pieces.next();
  }
}

/** Reads the text of one run; one question at a time. */
class TextReader {
  #cursor: TextCursor | undefined;
  #asked: Promise<readonly TextPiece[]> | undefined;

  constructor(private readonly origin: TextOrigin) {}

  /** Whether the run's text is in this store. Errors: as `withText`. */
  isHere({ snapshot }: RunState): boolean {
    const { source, runId, ofAnyStore } = this.origin;
    const storeId = snapshot?.storeId;
    if (ofAnyStore || storeId === undefined || storeId === source.id) return storeId === source.id;
    throw new ClientError(
      'invalid-input',
      `Run "${runId}" lives in store ${storeId}; this client was given store ${source.id} (${source.label}), which has none of its text. Give \`connect\` the store of the run's workers.`,
    );
  }

  /** What has arrived of the model call that this state waits for. */
  async read(state: RunState | undefined): Promise<readonly TextDelta[]> {
    if (state?.phase.type !== 'calling-model') return [];
    const { source, namespace, runId } = this.origin;
    this.#asked ??= source.liveTexts.watch(liveTextKey(namespace, runId), this.#cursor).then(
      (pieces) => pieces,
      // Text may be lost.
      () => [],
    );
    const pieces = await orAfter(mostAskMs, this.#asked);
    if (pieces === undefined) return [];
    this.#asked = undefined;
    const deltas: TextDelta[] = [];
    for (const piece of pieces) {
      const { call, number, ...rest } = piece;
      const isCurrent = call.startsWith(`${state.phase.callId}/`);
      // Of a call that history does not show yet: asked for again.
      if (!isCurrent && piece.iteration >= state.counters.iterations) break;
      this.#cursor = { call, number };
      if (isCurrent) deltas.push({ type: 'TextDelta', runId, ...rest });
    }
    return deltas;
  }
}

/** What the promise gives, or undefined after this time. Rejects with the promise. */
async function orAfter<Value>(
  ms: number,
  promise: Promise<Value>,
): Promise<Awaited<Value> | undefined> {
  const stop = new AbortController();
  try {
    return await Promise.race([promise, delay(ms, undefined, { signal: stop.signal })]);
  } finally {
    stop.abort();
  }
}
