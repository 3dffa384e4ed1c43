/** How a worker names itself if it is at fault. */
import { hostname } from 'node:os';

/** Process and machine, as the SDK names workers too, so that people find the one that lacks something. */
export function thisWorker(): string {
  return `Worker ${process.pid}@${hostname()}`;
}
