/** What is measured: one cell is one kind of work of one size, which each engine does in turn. */

/** A cell. Sizes are of one run: calls of the tool, bytes of each result. */
export type Cell =
  | { readonly kind: 'single'; readonly iterations: number; readonly resultBytes: number }
  | {
      readonly kind: 'concurrent';
      readonly runs: number;
      readonly iterations: number;
      readonly resultBytes: number;
    }
  /** The histories that the single cell of the same size and round has left. */
  | { readonly kind: 'replay'; readonly iterations: number; readonly resultBytes: number }
  /** Runs that stand in the middle of a conversation, cached by the worker. */
  | { readonly kind: 'memory' };

/** A cell's name in results, such as `single 100 x 1024 B`. */
export function nameOf(cell: Cell): string {
  if (cell.kind === 'memory') return 'memory';
  const runs = cell.kind === 'concurrent' ? `${cell.runs} runs x ` : '';
  return `${cell.kind} ${runs}${cell.iterations} x ${cell.resultBytes} B`;
}

/**
 * What a cell measures, by engine: milliseconds, bytes, events and actions of one iteration, but for `peakBytes` (of the
 * process), `cachedRunBytes` (of one run) and `startMs` (of one start).
 */
export const measures = [
  'wallMs',
  'workerCpuMs',
  'serverCpuMs',
  'historyBytes',
  'events',
  'actions',
  'heartbeats',
  'peakBytes',
  'cachedRunBytes',
  'startMs',
] as const;

/** Name of a measure. */
export type Measure = (typeof measures)[number];

/** What was measured of a cell; a measure is absent where the cell has none, or the machine cannot tell. */
export type Measured = Readonly<Partial<Record<Measure, number>>>;

/** One engine's turn at a cell. */
export interface Row {
  readonly engine: string;
  readonly round: number;
  readonly cell: string;
  /** Load of the machine (one minute) before it. */
  readonly load: number;
  readonly measured: Measured;
  /** Why there is nothing to measure: what the engine or the server said. */
  readonly failed?: string;
}
