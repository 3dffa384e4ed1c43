/** Measures one engine at one cell. */
import type { Client } from '@temporalio/client';
import type { Cell, Measured } from './cells';
import { nameOf } from './cells';
import { countActions } from './count-actions';
import type { HistoryFile } from './engine/engine';
import type { SpeedTask } from './engine/script';
import type { EngineProcess, OrderResult } from './engine-process';
import { readRunHistories } from './run-histories';
import { countHeartbeats, cpuMsOf } from './server-usage';

/** What a turn came to. */
export interface CellResult {
  readonly measured: Measured;
  readonly failed?: string;
}

type CellOf<Kind extends Cell['kind']> = Extract<Cell, { readonly kind: Kind }>;

/** A cell that takes longer than this has failed: a minute, and five times a slow iteration for each. */
const limitBaseMs = 60_000;
const limitPerIterationMs = 250;

/** Runs held for the memory cell; the second group is measured, since the first one also pays for what all share. */
const heldFirst = 10;
const heldThen = 40;
const heldAt = 5;

/** Short histories are replayed so often that the replay worker's own start does not count. */
const replayedIterations = 1_000;
const maxReplays = 10;

/** The server under measurement. */
export interface MeasuredServer {
  readonly pid: number;
  readonly metricsUrl: string;
}

/** Measures cells on one server. */
export class Measurer {
  private readonly histories = new Map<string, readonly HistoryFile[]>();
  /** What each engine failed at, so that it is not asked for more of the same. */
  private readonly deaths = new Map<string, CellOf<'single'>>();
  private turns = 0;
  /** At the end of the last measured work; undefined if something else has run since. */
  private heartbeats: number | undefined;

  constructor(
    private readonly client: Client,
    private readonly server: MeasuredServer,
    private readonly keep: (name: string, history: Uint8Array) => Promise<HistoryFile>,
  ) {}

  /** Errors: rejects if the run does not complete. */
  async warmUp(
    process: EngineProcess,
    workflowId: string,
    task: SpeedTask,
    limitMs: number,
  ): Promise<void> {
    this.heartbeats = undefined;
    const result = await process.order({ type: 'run', workflowIds: [workflowId], task }, limitMs);
    if ('failed' in result) throw new Error(`It did not complete a first run: ${result.failed}`);
  }

  /** Contract: never rejects because of the engine. */
  async measure(
    cell: Cell,
    engine: string,
    round: number,
    process: EngineProcess,
  ): Promise<CellResult> {
    this.turns += 1;
    const workflowId = `${engine}-${this.turns}`;
    const key = (iterations: number, resultBytes: number) =>
      `${engine} ${round} ${iterations} ${resultBytes}`;
    switch (cell.kind) {
      case 'single': {
        const historyKey = key(cell.iterations, cell.resultBytes);
        return this.single(cell, engine, workflowId, process, historyKey);
      }
      case 'concurrent':
        return this.concurrent(cell, workflowId, process);
      case 'replay':
        return this.replay(
          cell,
          process,
          this.histories.get(key(cell.iterations, cell.resultBytes)),
        );
      case 'memory':
        return this.memory(workflowId, process);
    }
  }

  /** The order's result, with what it cost the server. */
  private async watched(
    work: () => Promise<OrderResult>,
    iterations: number,
  ): Promise<CellResult & { readonly wallMs?: number }> {
    const { pid, metricsUrl } = this.server;
    const heartbeatsBefore = this.heartbeats ?? (await countHeartbeats(metricsUrl));
    const before = await cpuMsOf(pid);
    const result = await work();
    const after = await cpuMsOf(pid);
    this.heartbeats = await countHeartbeats(metricsUrl);
    if ('failed' in result) return { measured: {}, failed: result.failed };
    const cpuMs = (after ?? NaN) - (before ?? NaN);
    return {
      measured: {
        wallMs: result.wallMs / iterations,
        workerCpuMs: result.workerCpuMs / iterations,
        ...(Number.isNaN(cpuMs) ? {} : { serverCpuMs: cpuMs / iterations }),
        heartbeats: (this.heartbeats - heartbeatsBefore) / iterations,
        peakBytes: result.peakBytes,
      },
    };
  }

  private async single(
    cell: CellOf<'single'>,
    engine: string,
    workflowId: string,
    process: EngineProcess,
    historyKey: string,
  ): Promise<CellResult> {
    const death = this.deaths.get(engine);
    if (death !== undefined && isMoreThan(cell, death))
      return { measured: {}, failed: `not tried: it failed at ${nameOf(death)}` };
    const { iterations } = cell;
    const order = { type: 'run', workflowIds: [workflowId], task: cell } as const;
    const { measured, failed } = await this.watched(
      () => process.order(order, limitBaseMs + iterations * limitPerIterationMs),
      iterations,
    );
    if (failed !== undefined) {
      this.deaths.set(engine, cell);
      return { measured, failed };
    }
    const { encoded, events, bytes, wallMs } = await readRunHistories(this.client, workflowId);
    const files = await Promise.all(
      encoded.map((history, segment) => this.keep(`${workflowId}-${segment}`, history)),
    );
    this.histories.set(historyKey, files);
    return {
      measured: {
        ...measured,
        wallMs: wallMs / iterations,
        historyBytes: bytes / iterations,
        events: events.length / iterations,
        actions: countActions(events) / iterations + (measured.heartbeats ?? 0),
      },
    };
  }

  private concurrent(
    { runs, ...task }: CellOf<'concurrent'>,
    workflowId: string,
    process: EngineProcess,
  ): Promise<CellResult> {
    const workflowIds = Array.from({ length: runs }, (_each, index) => `${workflowId}-${index}`);
    const iterations = runs * task.iterations;
    return this.watched(
      () =>
        process.order(
          { type: 'run', workflowIds, task },
          limitBaseMs + iterations * limitPerIterationMs,
        ),
      iterations,
    );
  }

  private async replay(
    { iterations }: CellOf<'replay'>,
    process: EngineProcess,
    files: readonly HistoryFile[] | undefined,
  ): Promise<CellResult> {
    if (files === undefined) return { measured: {}, failed: 'it has left no history of this size' };
    const times = Math.min(maxReplays, Math.ceil(replayedIterations / iterations));
    const histories = Array.from({ length: times }, () => files).flat();
    const all = iterations * times;
    const limitMs = limitBaseMs + all * limitPerIterationMs;
    await process.order({ type: 'replay', histories: files }, limitMs);
    const result = await process.order({ type: 'replay', histories }, limitMs);
    if ('failed' in result) return { measured: {}, failed: result.failed };
    return { measured: { wallMs: result.wallMs / all, workerCpuMs: result.workerCpuMs / all } };
  }

  private async memory(workflowId: string, process: EngineProcess): Promise<CellResult> {
    const task: SpeedTask = { iterations: heldAt + 1, resultBytes: 1_024 };
    this.heartbeats = undefined;
    const resident: number[] = [];
    let failed: string | undefined;
    for (const count of [heldFirst, heldThen]) {
      const from = resident.length === 0 ? 0 : heldFirst;
      const workflowIds = Array.from(
        { length: count },
        (_, index) => `${workflowId}-${from + index}`,
      );
      const order = { type: 'hold', workflowIds, task, k: heldAt, held: from + count } as const;
      const result = await process.order(order, limitBaseMs);
      if ('failed' in result) failed ??= result.failed;
      else resident.push(result.residentBytes);
    }
    const released = await process.order({ type: 'release' }, limitBaseMs);
    if ('failed' in released) failed ??= released.failed;
    if (failed !== undefined) return { measured: {}, failed };
    const [first = 0, then = 0] = resident;
    return { measured: { cachedRunBytes: (then - first) / heldThen } };
  }
}

function isMoreThan(cell: SpeedTask, death: SpeedTask): boolean {
  return cell.iterations >= death.iterations && cell.resultBytes >= death.resultBytes;
}
