/** The text of model calls in progress, from the workers that receive it to the processes that show it (ADR 0062). */
import type {
  LiveTextSource,
  TextCursor,
  TextPiece,
} from '../../workflows/core/model-call/live-text';
import { contentHash } from './content-hash';
import type { SqlDatabase, SqlRow, SqlValue } from './sql/sql-database';
import { numberOf, placeholders, textOf } from './sql/sql-database';

/** Milliseconds for which a look at a run's text counts as watching it. */
const watchedMs = 10_000;
/** Milliseconds after which a watcher says so again. */
const renewMs = 3_000;
/** Milliseconds between two times that a process removes what nobody watches. */
const pruneMs = 60_000;
/** Runs of which this process remembers when it said so. */
const keptRenewals = 10_000;
/** Questions that share one statement. */
const maxTogether = 100;

const renewSql = `
  INSERT INTO @text_watchers (run_hash, until_ms) VALUES (?name, $now + ?)
  ON CONFLICT (run_hash) DO UPDATE SET until_ms = excluded.until_ms`;

const prunePiecesSql = `
  DELETE FROM @text_pieces WHERE run_hash NOT IN (
    SELECT run_hash FROM @text_watchers WHERE until_ms > $now
  )`;
const pruneWatchersSql = 'DELETE FROM @text_watchers WHERE until_ms <= $now';

const insertSql = `
  INSERT INTO @text_pieces (run_hash, call, number, piece) VALUES (?name, ?, ?, ?sealed)
  ON CONFLICT (run_hash, call, number) DO NOTHING`;
const deleteOthersSql = 'DELETE FROM @text_pieces WHERE run_hash = ?name AND call <> ?';

interface Question {
  readonly runHash: string;
  readonly cursor: TextCursor | undefined;
}

/**
 * Passes texts on through the tables of a store. While nobody watches a run, nothing of it is written here.
 *
 * Contract: nothing here is needed by a run: pieces may be lost, and those of an ended attempt go when the next one begins.
 * Errors: `store_unavailable`.
 */
export class LiveTexts {
  /** When this process says again that it watches a run, by `performance.now()`. */
  readonly #renewals = new Map<string, number>();
  #pruneDueMs = 0;
  readonly #readPieces: (question: Question) => Promise<readonly TextPiece[]>;
  readonly #readWatched: (runHash: string) => Promise<boolean>;

  constructor(private readonly database: SqlDatabase) {
    this.#readPieces = together((questions) => this.#piecesOf(questions));
    this.#readWatched = together((runHashes) => this.#watchedOf(runHashes));
  }

  /** As `LiveTextSource` says. */
  readonly watch: LiveTextSource['liveTexts']['watch'] = async (runKey, cursor) => {
    const runHash = contentHash(runKey);
    await this.#renew(runHash);
    return this.#readPieces({ runHash, cursor });
  };

  /** Whether somebody watches the run. */
  isWatched(runKey: string): Promise<boolean> {
    return this.#readWatched(contentHash(runKey));
  }

  /** Adds a piece. The first one of an attempt removes those of the attempts before. */
  async write(runKey: string, piece: TextPiece, isFirst: boolean): Promise<void> {
    const runHash = contentHash(runKey);
    const { call, number, ...rest } = piece;
    await this.database.write([
      ...(isFirst ? [[deleteOthersSql, [runHash, call]] as const] : []),
      [insertSql, [runHash, call, number, JSON.stringify(rest)]],
    ]);
  }

  /** Removes what nobody watches any more. */
  async prune(): Promise<void> {
    await this.database.write([[prunePiecesSql], [pruneWatchersSql]]);
  }

  async #renew(runHash: string): Promise<void> {
    const nowMs = performance.now();
    const dueMs = this.#renewals.get(runHash);
    if (dueMs !== undefined && nowMs < dueMs) return;
    if (this.#renewals.size >= keptRenewals) this.#renewals.clear();
    this.#renewals.set(runHash, nowMs + renewMs);
    try {
      if (nowMs >= this.#pruneDueMs) {
        this.#pruneDueMs = nowMs + pruneMs;
        await this.prune();
      }
      await this.database.write([[renewSql, [runHash, watchedMs]]]);
    } catch (thrown) {
      this.#renewals.delete(runHash);
      throw thrown;
    }
  }

  async #piecesOf(questions: readonly Question[]): Promise<(readonly TextPiece[])[]> {
    const conditions: string[] = [];
    const values: SqlValue[] = [];
    for (const { runHash, cursor } of questions) {
      conditions.push(
        cursor ? '(run_hash = ?name AND (call <> ? OR number > ?))' : 'run_hash = ?name',
      );
      values.push(runHash, ...(cursor ? [cursor.call, cursor.number] : []));
    }
    const sql = `SELECT {run_hash}, {call}, number, {piece} FROM @text_pieces
                 WHERE ${conditions.join(' OR ')} ORDER BY call, number`;
    const rows = await this.database.read((query) => query(sql, values));
    return questions.map(({ runHash, cursor }) =>
      rows.flatMap((row) => (textOf(row['run_hash']) === runHash ? pieceOf(row, cursor) : [])),
    );
  }

  async #watchedOf(runHashes: readonly string[]): Promise<boolean[]> {
    const sql = `SELECT {run_hash} FROM @text_watchers
                 WHERE until_ms > $now AND run_hash IN (${placeholders(runHashes.length)})`;
    const rows = await this.database.read((query) => query(sql, runHashes));
    const watched = new Set(rows.map((row) => textOf(row['run_hash'])));
    return runHashes.map((runHash) => watched.has(runHash));
  }
}

/** None for a damaged row, and for one that another watcher of the same run asked for. */
function pieceOf(row: SqlRow, cursor: TextCursor | undefined): readonly TextPiece[] {
  const call = textOf(row['call']) ?? '';
  const number = numberOf(row['number']);
  if (call === cursor?.call && number <= cursor.number) return [];
  try {
    const piece = JSON.parse(textOf(row['piece']) ?? '') as Omit<TextPiece, 'call' | 'number'>;
    return typeof piece.text === 'string' ? [{ ...piece, call, number }] : [];
  } catch {
    return [];
  }
}

/** Answers questions that come while a statement runs with the next one, so that many watchers cost few statements. */
function together<Asked, Answer>(
  answer: (questions: readonly Asked[]) => Promise<readonly Answer[]>,
): (question: Asked) => Promise<Answer> {
  interface Waiting {
    readonly question: Asked;
    readonly resolve: (answer: Answer) => void;
    readonly reject: (thrown: unknown) => void;
  }
  const waiting: Waiting[] = [];
  let isBusy = false;
  const work = async (): Promise<void> => {
    isBusy = true;
    while (waiting.length > 0) {
      const group = waiting.splice(0, maxTogether);
      try {
        const answers = await answer(group.map(({ question }) => question));
        group.forEach(({ resolve }, index) => {
          resolve(answers[index] as Answer);
        });
      } catch (thrown) {
        for (const { reject } of group) reject(thrown);
      }
    }
    isBusy = false;
  };
  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject });
      if (!isBusy) void work();
    });
}
