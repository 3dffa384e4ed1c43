/** Runs the cells: rounds, engines in turn within each cell, one server, a process for each engine. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { startEmbeddedServer } from '../../workers/temporal-server/embedded-server';
import type { Cell, Row } from './cells';
import { nameOf } from './cells';
import type { EngineSettings, HistoryFile } from './engine/engine';
import type { EngineProcess } from './engine-process';
import { startEngine } from './engine-process';
import { engineModule, engines, isPeer } from './engines';
import { Measurer } from './measure-cell';
import { peerFile } from './peers';
import { metricsUrlIn } from './server-usage';

/** What is to be run. */
export interface SpeedPlan {
  /** Names in `engines`; the floor is among them. */
  readonly engines: readonly string[];
  readonly cells: readonly Cell[];
  /** Cells of at least 1,000 iterations or runs are measured in the first round only. */
  readonly rounds: number;
  /** No round begins that would probably end later. Absent: all rounds. */
  readonly budgetMs?: number;
}

/** What Node needs to run the engines' files, and who gets each row. */
export interface SpeedSurroundings {
  readonly execArgv?: readonly string[];
  readonly onRow?: (row: Row) => void;
}

/** What was run. */
export interface SpeedRows {
  readonly rows: readonly Row[];
  readonly rounds: number;
  readonly serverVersion: string;
  /** By engine, then by package. */
  readonly versions: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const longSize = 1_000;
const warmUp = { iterations: 5, resultBytes: 1_024 } as const;
const warmUpLimitMs = 120_000;
/** Histories that carry the conversation come in pages above gRPC's default of 4 MB. */
const channelArgs = { 'grpc.max_receive_message_length': 512 * 1024 * 1024 };

function isLong(cell: Cell): boolean {
  if (cell.kind === 'memory') return false;
  return Math.max(cell.iterations, cell.kind === 'concurrent' ? cell.runs : 1) >= longSize;
}

/** The engines of a round's cell, each time beginning with another one. */
export function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  const from = by % items.length;
  return [...items.slice(from), ...items.slice(0, from)];
}

class SpeedRun {
  readonly rows: Row[] = [];
  readonly versions: Record<string, Readonly<Record<string, string>>> = {};
  private readonly prepared = new Set<string>();
  private starts = 0;

  constructor(
    private readonly plan: SpeedPlan,
    private readonly surroundings: SpeedSurroundings,
    private readonly address: string,
    private readonly directory: string,
    private readonly measurer: Measurer,
  ) {}

  private add(row: Omit<Row, 'load'>, load: number): void {
    const whole = { ...row, load: Math.round(load * 100) / 100 };
    this.rows.push(whole);
    this.surroundings.onRow?.(whole);
  }

  /** A task queue of its own for each process, so that none takes over what a lost one has left. */
  private async start(name: string, mode: 'serve' | 'replay'): Promise<EngineProcess> {
    const entry = engines[name];
    if (entry === undefined) throw new Error(`There is no engine "${name}".`);
    const { file, variant } = entry;
    const directory = path.join(this.directory, file);
    await mkdir(directory, { recursive: true });
    this.starts += 1;
    const settings: EngineSettings = {
      file: isPeer(file) ? peerFile(file, 'engine.mjs') : engineModule(file),
      variant,
      mode,
      address: this.address,
      taskQueue: `${name}-${this.starts}`,
      directory,
    };
    const execArgv = this.surroundings.execArgv ?? [];
    if (!this.prepared.has(file)) {
      await (await startEngine({ ...settings, mode: 'prepare' }, execArgv)).stop();
      this.prepared.add(file);
    }
    return startEngine(settings, execArgv);
  }

  /** Starts what is not alive. An engine that does not start has a row that says so, and no other cell. */
  private async startAll(
    processes: Map<string, EngineProcess>,
    names: readonly string[],
    mode: 'serve' | 'replay',
    round: number,
  ): Promise<void> {
    for (const engine of names) {
      if (processes.get(engine)?.isAlive() === true) continue;
      const load = loadavg()[0] ?? 0;
      const cell = 'start';
      try {
        const started = await this.start(engine, mode);
        processes.set(engine, started);
        this.versions[engine] = started.versions;
        if (mode === 'replay') continue;
        this.add({ engine, round, cell, measured: { startMs: started.startMs } }, load);
        await this.measurer.warmUp(started, `${engine}-${this.starts}`, warmUp, warmUpLimitMs);
      } catch (thrown) {
        processes.delete(engine);
        const failed = thrown instanceof Error ? thrown.message : String(thrown);
        this.add({ engine, round, cell, measured: {}, failed }, load);
      }
    }
  }

  /** One cell: each engine in turn. */
  private async runCell(
    cell: Cell,
    order: readonly string[],
    processes: Map<string, EngineProcess>,
    round: number,
  ): Promise<void> {
    for (const engine of order) {
      const process = processes.get(engine);
      if (process === undefined || (cell.kind === 'memory' && engines[engine]?.isLocal === true))
        continue;
      const load = loadavg()[0] ?? 0;
      const result = await this.measurer.measure(cell, engine, round, process);
      this.add({ engine, round, cell: nameOf(cell), ...result }, load);
      if (!process.isAlive()) {
        processes.delete(engine);
        await this.startAll(
          processes,
          [engine],
          cell.kind === 'replay' ? 'replay' : 'serve',
          round,
        );
      }
    }
  }

  async round(round: number): Promise<void> {
    const cells = this.plan.cells.filter((cell) => round === 1 || !isLong(cell));
    for (const mode of ['serve', 'replay'] as const) {
      const own = cells.filter(({ kind }) => (kind === 'replay') === (mode === 'replay'));
      if (own.length === 0) continue;
      const processes = new Map<string, EngineProcess>();
      try {
        await this.startAll(processes, this.plan.engines, mode, round);
        for (const [index, cell] of own.entries())
          await this.runCell(cell, rotated(this.plan.engines, round + index), processes, round);
      } finally {
        await Promise.all([...processes.values()].map((process) => process.stop()));
      }
    }
  }
}

async function runRounds(run: SpeedRun, plan: SpeedPlan): Promise<number> {
  const startedAtMs = performance.now();
  for (let round = 1; ; round += 1) {
    await run.round(round);
    const elapsedMs = performance.now() - startedAtMs;
    const nextEndsAtMs = (elapsedMs / round) * (round + 1);
    if (round === plan.rounds || nextEndsAtMs > (plan.budgetMs ?? Infinity)) return round;
  }
}

/**
 * Runs the plan on a server of its own, and leaves nothing behind.
 *
 * Errors: rejects if the server does not start. An engine that fails is a row that says why.
 */
export async function runSpeed(
  plan: SpeedPlan,
  surroundings: SpeedSurroundings = {},
): Promise<SpeedRows> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-speed-'));
  const logFile = path.join(directory, 'server.log');
  const server = await startEmbeddedServer({ untilExitOf: process.pid, logFile });
  try {
    const { address } = server;
    const connection = await Connection.connect({ address, channelArgs });
    const client = new Client({ connection });
    const { serverVersion } = await client.workflowService.getSystemInfo({});
    const keep = async (name: string, history: Uint8Array): Promise<HistoryFile> => {
      const file = path.join(directory, `${name}.history`);
      await writeFile(file, history);
      return { workflowId: name, file };
    };
    const metricsUrl = await metricsUrlIn(logFile);
    const measurer = new Measurer(client, { pid: server.pid, metricsUrl }, keep);
    const run = new SpeedRun(plan, surroundings, address, directory, measurer);
    const rounds = await runRounds(run, plan);
    await connection.close();
    return { rows: run.rows, rounds, serverVersion: serverVersion, versions: run.versions };
  } finally {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
