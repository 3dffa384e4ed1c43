/** The worker's log: pino, with secrets redacted, and the Temporal SDK's runtime bridged into it. */
import type { LogLevel, LogMetadata, MetricsExporterConfig } from '@temporalio/worker';
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { DestinationStream, Logger } from 'pino';
import { destination, pino } from 'pino';
import { withoutSecrets } from '../activities/untrusted/known-secrets';
import { defined } from '../workflows/core/json';
import { stripHidden } from '../workflows/core/secrets/hidden-characters';
import type { Environment } from './env';
import { logLevels } from './env';
import { SetupError } from './setup-error';

const standardErrorFd = 2;

/**
 * A logger that writes one JSON object per line.
 *
 * Contract: secrets of known shapes, terminal sequences and hidden characters never reach the output. Default output: standard error, so that standard output
 * stays for results.
 */
export function createLogger(level: Environment['logLevel'], output?: DestinationStream): Logger {
  return pino(
    { level, base: { pid: process.pid }, hooks: { streamWrite: cleanLine } },
    output ?? standardError(),
  );
}

/** Standard error as a destination. A line that cannot be written, as on a full disk, must not end the worker. */
function standardError(): DestinationStream {
  return destination({ fd: standardErrorFd, sync: true }).on('error', () => undefined);
}

/** Pino's names of the SDK's levels. */
const pinoLevels = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const satisfies Record<LogLevel, string>;

/** Gives a pino logger the form that the Temporal SDK wants; pino's level decides what is written. */
export class TemporalLogger extends DefaultLogger {
  constructor(private readonly pinoLogger: Logger) {
    super('TRACE', ({ level, message, meta }) => {
      pinoLogger[pinoLevels[level]](plain(meta), message);
    });
  }

  /** The SDK traces every task, and asks for the time and copies what it knows before it gives the line to the function above. */
  override log(level: LogLevel, message: string, meta?: LogMetadata): void {
    if (this.pinoLogger.isLevelEnabled(pinoLevels[level])) super.log(level, message, meta);
  }
}

/**
 * Makes the SDK's one runtime of this process write its log, the native core's included, through a pino logger or to
 * standard error at a level.
 *
 * Contract: to be called before anything connects; a second call, or one after a connection was made, changes nothing
 * and returns false. The runtime ends all workers gracefully on SIGTERM and SIGINT; `withoutWorkers` leaves the signals
 * alone, since the runtime takes the first one even where it has no worker to end.
 */
export function installRuntime(
  log: Logger | Environment['logLevel'],
  {
    withoutWorkers = false,
    metrics,
  }: { readonly withoutWorkers?: boolean; readonly metrics?: MetricsExporterConfig } = {},
): boolean {
  if (typeof log === 'string' && !logLevels.includes(log))
    throw new SetupError(`The log level is "${log}"; use ${logLevels.join(', ')}.`);
  if (Runtime._instance !== undefined) return false;
  Runtime.install({
    logger: new TemporalLogger(typeof log === 'string' ? createLogger(log) : log),
    ...(withoutWorkers ? { shutdownSignals: [] } : {}),
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }), forward: {} },
      ...defined({ metrics }),
    },
  });
  return true;
}

/** A line with escapes or characters beyond ASCII: its texts are cleaned one by one. */
const maybeHidden = /\\[ubf]|[^\x20-\x7e\n]/;

/** One line of JSON without secrets and hidden characters. A token must not be split by what a reader does not see. */
function cleanLine(line: string): string {
  if (!maybeHidden.test(line)) return withoutSecrets(line);
  try {
    const visible = JSON.stringify(JSON.parse(line), (_key, value: unknown) =>
      typeof value === 'string' ? withoutSecrets(stripHidden(value)) : value,
    );
    return `${withoutSecrets(visible)}\n`;
  } catch {
    return withoutSecrets(line);
  }
}

/** What JSON can carry; the SDK puts BigInts and symbols into its metadata. */
function plain(meta: LogMetadata | undefined): Record<string, unknown> {
  const entries = Object.entries(meta ?? {}).map(([key, value]: [string, unknown]) => [
    key === 'error' ? 'err' : key,
    typeof value === 'bigint' ? String(value) : value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}
