/** Entry of `holdfast/worker`: make a worker, or add Holdfast to one. */
export type { ConnectOptions } from './connection';
export { connectClient, connectOptionsFrom, connectWorker } from './connection';
export type { EmbeddedServer, EmbeddedServerOptions } from './embedded-server';
export { startEmbeddedServer } from './embedded-server';
export type { Environment, LogLevel } from './env';
export { readEnvironment } from './env';
export type { HoldfastPluginOptions } from './holdfast-plugin';
export { HoldfastPlugin } from './holdfast-plugin';
export { createLogger, installRuntime } from './logging';
export type { RegistrationResult } from './search-attributes';
export { registerSearchAttributes } from './search-attributes';
export { SetupError } from './setup-error';
export type { OpenTemporalOptions, TemporalServer } from './temporal-server';
export { openTemporal } from './temporal-server';
export type { CreateWorkerOptions } from './worker';
export { createWorker } from './worker';
export type { WorkflowBundle, WorkflowBundleOptions } from './workflow-bundle';
export { loadWorkflowBundle } from './workflow-bundle';
