/** What an engine is to the benchmark, and what its process and the benchmark say to each other. */
import type * as clientModule from '@temporalio/client';
import type * as protoModule from '@temporalio/proto';
import type * as workerModule from '@temporalio/worker';
import type { script, SpeedTask } from './script';

/** What an engine's process is started with: its one argument, as JSON. */
export interface EngineSettings {
  /** File that exports `makeEngine`. */
  readonly file: string;
  /** Which of the file's engines. */
  readonly variant: string;
  /** `prepare` builds the workflow bundle into `directory` and ends. */
  readonly mode: 'prepare' | 'serve' | 'replay';
  readonly address: string;
  readonly taskQueue: string;
  /** For bundles and stores; the benchmark removes it. */
  readonly directory: string;
}

/** What differs between engines that are made of a Temporal worker and client alone, each with its own copy of the packages. */
export interface TemporalEngineParts {
  readonly packages: {
    readonly worker: typeof workerModule;
    readonly client: typeof clientModule;
    readonly proto: typeof protoModule;
  };
  readonly versions: Readonly<Record<string, string>>;
  readonly workflowsPath: string;
  readonly bundlerOptions?: Pick<workerModule.BundleOptions, 'webpackConfigHook'>;
  readonly activities: object;
  readonly plugins?: workerModule.WorkerPlugin[];
  readonly clientPlugins?: clientModule.ClientPlugin[];
  /** What is started for a task. */
  readonly workflowFor: (task: SpeedTask) => {
    readonly type: string;
    readonly args: unknown[];
  };
}

/** What the process gives its engine. */
export interface EngineContext extends EngineSettings {
  readonly script: typeof script;
  /** The tool: record `k`, held while the benchmark holds runs there. */
  readonly lookup: (k: number, size: number) => Promise<string>;
  /** Of temporal-engine.ts. */
  readonly makeTemporalEngine: (context: EngineContext, parts: TemporalEngineParts) => Engine;
}

/** A worker and a client, ready. */
export interface ServingEngine {
  /** Starts the run and waits for its end. Errors: rejects if it does not complete. */
  run(workflowId: string, task: SpeedTask): Promise<void>;
  stop(): Promise<void>;
}

/** One history to replay: `temporal.api.history.v1.History` as protobuf. */
export interface HistoryFile {
  readonly workflowId: string;
  readonly file: string;
}

/** An engine. */
export interface Engine {
  readonly versions: Readonly<Record<string, string>>;
  prepare(): Promise<void>;
  serve(): Promise<ServingEngine>;
  /** Replays the histories one after the other in one replay worker. Errors: rejects at the first that does not replay. */
  replay(histories: readonly HistoryFile[]): Promise<void>;
}

/** What an engine's file exports. */
export interface EngineModule {
  readonly makeEngine: (context: EngineContext) => Engine;
}

/** What the benchmark asks of an engine's process. */
export type EngineOrder =
  | { readonly type: 'run'; readonly workflowIds: readonly string[]; readonly task: SpeedTask }
  /** Starts runs and answers when `held` runs stand in their call `k`; they stay until `release`. */
  | {
      readonly type: 'hold';
      readonly workflowIds: readonly string[];
      readonly task: SpeedTask;
      readonly k: number;
      readonly held: number;
    }
  | { readonly type: 'release' }
  | { readonly type: 'replay'; readonly histories: readonly HistoryFile[] }
  | { readonly type: 'stop' };

/** How the process is at the end of an order, and what the order took. */
export interface EngineReport {
  readonly wallMs: number;
  /** CPU of the whole process, all threads, user and system. */
  readonly workerCpuMs: number;
  /** Resident memory now (after a garbage collection at `hold`) and at its highest. */
  readonly residentBytes: number;
  readonly peakBytes: number;
}

/** What the process says: once that it is ready, then one answer for each order, in their order. */
export type EngineMessage =
  | { readonly type: 'ready'; readonly versions: Readonly<Record<string, string>> }
  | { readonly type: 'done'; readonly report: EngineReport }
  | { readonly type: 'failed'; readonly reason: string };
