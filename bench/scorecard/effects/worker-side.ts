/** The worker's side of a crew: what a process that will be killed tells the one that kills it. */
import type { Worker } from '@temporalio/worker';
import pino from 'pino';
import { installRuntime } from '../../../workers/logging';
import type { EffectsWorkerMessage } from './worker-crew';

/** Sends a message to the process that started this one. */
export function tell(message: EffectsWorkerMessage): void {
  process.send?.(message);
}

/** Says that the program is loaded. From here on it ends with the process that started it. */
export function beginCrewMember(): void {
  installRuntime(pino({ level: 'silent' }));
  tell({ type: 'loaded' });
  process.once('disconnect', () => {
    process.exit(1);
  });
}

/** Runs a worker to its end, and ends the process; says why if it cannot. */
export async function serveUntilEnd(makeWorker: () => Promise<Worker>): Promise<void> {
  try {
    const worker = await makeWorker();
    const running = worker.run();
    tell({ type: 'ready' });
    await running;
    process.exit(0);
  } catch (thrown) {
    tell({ type: 'failed', reason: thrown instanceof Error ? thrown.message : String(thrown) });
    process.exit(1);
  }
}
