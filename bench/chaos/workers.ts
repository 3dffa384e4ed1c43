/** The workers of a chaos: `holdfast worker` as a process, in slots that are filled again whatever becomes of it. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The built command. */
export const program = path.resolve(__dirname, '../../workers/cli.js');
const agentsFile = path.join(__dirname, 'agents.js');

/** Milliseconds that a worker may take to end after SIGTERM, before it counts as one that does not. */
const shutdownMs = 90_000;
/** Milliseconds before a worker that ended by itself is replaced. */
const replaceMs = 3_000;

/** How one worker is started. */
export interface WorkerStart {
  readonly environment: Readonly<Record<string, string>>;
  /** Of its version. */
  readonly buildId: string;
  /** What its clock is ahead or behind, as libfaketime reads it. */
  readonly clock?: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly log: string;
  /** Ends only if it is told to. */
  isWanted: boolean;
  /** It does not run at the moment, and takes no other fault. */
  isHeld: boolean;
}

/** Where libfaketime is, for processes with threads. */
const faketime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';

function clockVariables(clock: string | undefined): Readonly<Record<string, string>> {
  if (clock === undefined) return {};
  return { LD_PRELOAD: faketime, FAKETIME: clock, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

/** The workers of one chaos. */
export class Workers {
  readonly #slots: Running[] = [];
  readonly #starts: WorkerStart[] = [];
  #serial = 0;
  #isOver = false;

  constructor(
    private readonly folder: string,
    private readonly onExit: (text: string) => void,
  ) {
    process.once('exit', () => {
      this.end();
    });
  }

  /** Starts a worker in this slot, as `start` says, or as the slot was filled before. */
  start(slot: number, start: WorkerStart | undefined = this.#starts[slot]): void {
    if (start === undefined) throw new Error(`nothing says how to start worker ${slot}`);
    this.#starts[slot] = start;
    this.#serial += 1;
    const log = path.join(this.folder, `worker-${slot}-${this.#serial}.log`);
    const out = openSync(log, 'a');
    const child = spawn(process.execPath, [program, 'worker', '--agents', agentsFile], {
      cwd: this.folder,
      stdio: ['ignore', out, out],
      env: {
        ...start.environment,
        ...clockVariables(start.clock),
        HOLDFAST_BUILD_ID: start.buildId,
      },
    });
    closeSync(out);
    const running: Running = { child, log, isWanted: true, isHeld: false };
    this.#slots[slot] = running;
    child.once('exit', (code, signal) => {
      if (this.#isOver || !running.isWanted) return;
      const said = readFileSync(log, 'utf8').slice(-1_500);
      this.onExit(`worker ${slot} ended with ${signal ?? `code ${code ?? 0}`}: ${said}`);
      void delay(replaceMs).then(() => {
        if (!this.#isOver) this.start(slot);
      });
    });
  }

  /** How the worker of this slot was started. */
  startOf(slot: number): WorkerStart {
    const start = this.#starts[slot];
    if (start === undefined) throw new Error(`there is no worker ${slot}`);
    return start;
  }

  /** The process of a worker that serves, and that no fault holds; undefined if there is none. */
  serving(slot: number): ChildProcess | undefined {
    const running = this.#slots[slot];
    if (running === undefined || running.isHeld || !running.isWanted) return undefined;
    const { child, log } = running;
    if (child.exitCode !== null || child.signalCode !== null) return undefined;
    return readFileSync(log, 'utf8').includes('worker for ') ? child : undefined;
  }

  /** Sends this, and fills the slot again after some time. */
  async kill(slot: number, afterMs: number): Promise<void> {
    const running = this.#slots[slot];
    if (running === undefined) return;
    running.isWanted = false;
    running.child.kill('SIGKILL');
    await delay(afterMs);
    this.start(slot);
  }

  /** Starts the next worker of the slot, and tells the one before to end. Errors: it does not end, and gets SIGKILL. */
  async roll(slot: number, start?: WorkerStart): Promise<void> {
    const running = this.#slots[slot];
    if (running === undefined) return;
    running.isWanted = false;
    const gone = once(running.child, 'exit').then(() => true);
    running.child.kill('SIGTERM');
    this.start(slot, start);
    const stop = new AbortController();
    const isGone = await Promise.race([
      gone,
      delay(shutdownMs, false, { signal: stop.signal }).catch(() => false),
    ]);
    stop.abort();
    if (isGone) return;
    running.child.kill('SIGKILL');
    this.onExit(`worker ${slot} did not end within ${shutdownMs} ms of SIGTERM`);
  }

  /** Keeps a worker from running, or from writing, until `release`. */
  async hold(slot: number, forMs: number, begin: () => void, release: () => void): Promise<void> {
    const running = this.#slots[slot];
    if (running === undefined) return;
    running.isHeld = true;
    begin();
    await delay(forMs);
    release();
    running.isHeld = false;
  }

  /** Ends all of them at once. */
  end(): void {
    this.#isOver = true;
    for (const { child } of this.#slots) child.kill('SIGKILL');
  }
}
