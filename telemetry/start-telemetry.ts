/** Turns telemetry on where OpenTelemetry's environment variables ask for it. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { InjectedSinks, MetricsExporterConfig, WorkerOptions } from '@temporalio/worker';
import { Runtime } from '@temporalio/worker';
import { rememberSecretsOf } from '../activities/untrusted/known-secrets';
import type { Environment } from '../workers/env';
import { readEnvironment } from '../workers/env';
import { installRuntime } from '../workers/logging';
import { reasonOf, SetupError } from '../workers/setup-error';
import type { WorkflowCounts } from './counting';
import { lostWorkers, workflowCounts } from './counting';
import type { TelemetrySettings } from './settings';
import { telemetrySettings } from './settings';
import type { startTracing as StartTracing, Tracing } from './tracing';
import type { TelemetrySinks } from './workflow/step-report';

/** What of a worker's options telemetry adds to. */
type Observed = Pick<WorkerOptions, 'bundlerOptions' | 'interceptors' | 'sinks'>;

/** Telemetry of one process: also a plugin for `Worker.create({ plugins: [new HoldfastPlugin(…), telemetry] })`. */
export interface Telemetry {
  readonly name: string;
  /** What was asked for; empty: nothing, and options stay as they are. */
  readonly signals: readonly ('traces' | 'metrics')[];
  /** Adds telemetry to a worker's options: `createWorker(telemetry.configureWorker({ … }))`. */
  configureWorker<Options extends object>(options: Options): Options;
  /** Sends what is left; after the worker has ended. Never rejects. */
  shutdown(): Promise<void>;
}

/** Adds the module that is bundled with the workflows, compiled or else its source, to a worker's options. */
export function withWorkflowModule<Options extends Observed>(options: Options): Options {
  const { bundlerOptions, interceptors = {} }: Observed = options;
  const file = path.join(__dirname, 'workflow', 'interceptors');
  const own = existsSync(`${file}.js`) ? `${file}.js` : `${file}.ts`;
  return {
    ...options,
    bundlerOptions: {
      ...bundlerOptions,
      preloadModules: [own, ...(bundlerOptions?.preloadModules ?? [])],
    },
    interceptors: {
      ...interceptors,
      workflowModules: [own, ...(interceptors.workflowModules ?? [])],
    },
  };
}

/** The packages are optional peers: only who wants traces installs them. */
async function loadTracing(): Promise<{ readonly startTracing: typeof StartTracing }> {
  try {
    return await import('./tracing.ts');
  } catch (thrown) {
    throw new SetupError(
      `Traces are on (OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT), but their packages cannot be loaded: ${reasonOf(thrown)}. ` +
        'Install @opentelemetry/api, @opentelemetry/sdk-trace-node, @opentelemetry/resources ' +
        'and @opentelemetry/exporter-trace-otlp-http, or set OTEL_TRACES_EXPORTER=none.',
      { cause: thrown },
    );
  }
}

function exporterOf(
  { serviceName }: TelemetrySettings,
  metrics: NonNullable<TelemetrySettings['metrics']>,
): MetricsExporterConfig {
  const common = { globalTags: { service_name: serviceName }, attachServiceName: false };
  if (metrics.type === 'prometheus')
    return { ...common, prometheus: { bindAddress: metrics.bindAddress } };
  const { url, headers, intervalMs } = metrics;
  return {
    ...common,
    otel: { url, http: true, headers: { ...headers }, metricsExportInterval: intervalMs },
  };
}

function configured<Options extends object>(
  options: Options,
  tracing: Tracing | undefined,
  workflows: WorkflowCounts | undefined,
): Options {
  const { interceptors = {}, sinks }: Observed = options;
  const reports: InjectedSinks<TelemetrySinks> = {
    holdfastTelemetry: {
      report: {
        fn: (info, { spans, counts }) => {
          tracing?.record(spans);
          workflows?.add(info, counts);
        },
      },
    },
  };
  return withWorkflowModule({
    ...options,
    interceptors: {
      ...interceptors,
      activity: [
        ...(tracing === undefined ? [] : [tracing.activity]),
        lostWorkers,
        ...(interceptors.activity ?? []),
      ],
    },
    sinks: { ...sinks, ...reports },
  });
}

function checkEnvironment(environment: Partial<Environment> | null): void {
  if (typeof environment?.openTelemetry === 'object') return;
  throw new SetupError('startTelemetry takes an environment: startTelemetry(readEnvironment()).');
}

/**
 * Reads OpenTelemetry's environment variables, and installs the SDK's runtime with the log and, if they are wanted, metrics.
 * Without such variables it does what `installRuntime` does, and loads nothing.
 *
 * Contract: to be called before anything connects, in place of `installRuntime`.
 * Errors: `SetupError` for variables that ask for what is not there, missing packages, and a runtime that is there already.
 */
export async function startTelemetry(
  environment: Pick<Environment, 'openTelemetry' | 'logLevel'> = readEnvironment(),
): Promise<Telemetry> {
  checkEnvironment(environment);
  const settings = telemetrySettings(environment.openTelemetry);
  const { traces, metrics } = settings;
  // A collector's key must not show in what is sent to it.
  rememberSecretsOf(traces?.headers);
  if (metrics?.type === 'otlp') rememberSecretsOf(metrics.headers);
  const tracing = traces && (await loadTracing()).startTracing(settings, traces);
  const isInstalled = installRuntime(
    environment.logLevel,
    metrics === undefined ? {} : { metrics: exporterOf(settings, metrics) },
  );
  if (!isInstalled && metrics !== undefined)
    throw new SetupError(
      "Metrics are on (OTEL_METRICS_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT), but the SDK's runtime is there already: call startTelemetry before connectWorker, and not installRuntime.",
    );
  const signals = (['traces', 'metrics'] as const).filter((kind) => settings[kind] !== undefined);
  const counts = metrics && workflowCounts(Runtime.instance().metricMeter);
  return {
    name: 'holdfast-telemetry',
    signals,
    configureWorker: (options) =>
      signals.length > 0 ? configured(options, tracing, counts) : options,
    shutdown: async () => {
      counts?.flush();
      // The receiver may be gone: what is seen of runs is worth less than the worker's end.
      await tracing?.shutdown().catch(() => undefined);
    },
  };
}
