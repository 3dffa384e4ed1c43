/** Entry of `holdfast/worker`: make a worker, or add Holdfast to one. */
export type { ServerOptions } from './connection';
export type { Environment } from './env';
export { readEnvironment } from './env';
export { HoldfastPlugin } from './holdfast-plugin';
export { installRuntime } from './logging';
export type { TemporalServer } from './temporal-server/open-temporal';
export { openTemporal } from './temporal-server/open-temporal';
export { createWorker } from './worker';
export { connectWorker } from './worker-connection';
export type { CreateWorkerOptions } from './worker-options';
