/** Keeps one worker of the demo at work, and murders it once, in the middle of a tool call. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerProcess, WorkerSettings } from './worker-process';
import { forkWorker, startWorker } from './worker-process';

/** The demo's workers: one at a time. */
export interface Crew {
  /** Workers killed so far. */
  kills(): number;
  /** Stops the worker that serves, and ends the story of this crew. Errors: why a worker could not be replaced. */
  dismiss(): Promise<void>;
}

/** A command runs for about a second; it is well under way then. */
const intoTheCommandMs = 200;

/** Starts the crew with a process from `forkWorker`. Contract: `print` gets each death and each replacement as one line. */
export async function startCrew(
  process: ChildProcess,
  settings: WorkerSettings,
  print: (line: string) => void,
): Promise<Crew> {
  let hasEdited = false;
  let kills = 0;
  let serving: Promise<WorkerProcess>;

  async function replace(victim: WorkerProcess): Promise<WorkerProcess> {
    await sleep(intoTheCommandMs);
    await victim.kill();
    kills += 1;
    print(`worker ${victim.pid} killed with SIGKILL while the command ran`);
    const next = await startWorker(spare, settings, onToolStart);
    print(`worker ${next.pid} takes over`);
    return next;
  }

  function onToolStart(worker: WorkerProcess, tool: string): void {
    hasEdited ||= tool === 'edit_file';
    if (tool !== 'run_command' || !hasEdited || kills > 0) return;
    serving = replace(worker);
    // Reported by `dismiss`; the run only waits until then.
    serving.catch(() => undefined);
  }

  const first = await startWorker(process, settings, onToolStart);
  // It takes over as fast as a worker on another machine would, which runs already.
  const spare = forkWorker();
  serving = Promise.resolve(first);
  print(`worker ${first.pid} serves`);
  return {
    kills: () => kills,
    dismiss: async () => {
      if (kills === 0) spare.kill('SIGKILL');
      await (await serving).stop();
    },
  };
}
