/** How a worker names itself if it is at fault. */
import { hostname } from 'node:os';

/** Process and machine, as in the SDK's worker identity. */
export function thisWorker(): string {
  return `Worker ${process.pid}@${hostname()}`;
}
