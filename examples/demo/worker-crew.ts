/** Keeps one worker of the demo at work, and murders it once, in the middle of a tool call. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerProcess, WorkerSettings } from './worker-process';
import { startWorker } from './worker-process';

/** The demo's workers: one at a time. */
export interface Crew {
  /** Workers killed so far. */
  kills(): number;
  /** Stops the worker that serves, and ends the story of this crew. Errors: why a worker could not be replaced. */
  dismiss(): Promise<void>;
}

/** A command runs for about a second; it is well under way then. */
const intoTheCommandMs = 200;

/** Starts the crew. Contract: `print` gets each death and each replacement as one line. */
export async function startCrew(
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
    const next = await startWorker(settings, onToolStart);
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

  const first = await startWorker(settings, onToolStart);
  serving = Promise.resolve(first);
  print(`worker ${first.pid} serves`);
  return {
    kills: () => kills,
    dismiss: async () => (await serving).stop(),
  };
}
