/** Connections to a Temporal server, made within a bounded time or refused with a clear reason. */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import type { TLSConfig } from '@temporalio/client';
import type * as EnvConfig from '@temporalio/envconfig';
import { rememberSecret } from '../activities/untrusted/known-secrets';
import { closedConnection } from '../client/closed-connection';
import { defined } from '../workflows/core/json';
import type { TemporalEnvironment } from './env';
import { reasonOf, SetupError, UnreachableError } from './setup-error';

/** Which Temporal server, and with which account. */
export interface ServerOptions {
  /** `host:port`. */
  readonly address: string;
  /** Checked on connecting. Default `default`. */
  readonly namespace?: string;
  readonly apiKey?: string;
  readonly tls?: TLSConfig | boolean;
  /** Headers of each request. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Milliseconds that the server may take to answer. Default 5,000. */
  readonly connectTimeoutMs?: number;
}

/** Why a server does not serve. */
export interface ServerProblem {
  /** `refused`: it answers, but not for this namespace or account. `ended`: the caller gave up. */
  readonly type: 'unreachable' | 'refused' | 'ended';
  readonly reason: string;
}

const defaultTimeoutMs = 5_000;
const pollMs = 50;
/** gRPC's own first back-off is 1 s; a local server answers in milliseconds. */
const attemptTimeoutMs = 2_000;

/** gRPC's deadline-exceeded and unavailable: the server is there, but what it needs itself is not. */
const downCodes: ReadonlySet<number> = new Set([4, 14]);

/**
 * Options for the server that the environment names.
 *
 * Errors: `SetupError` that names the variable if a certificate cannot be read, or what is wrong with a profile.
 */
export async function serverOptionsFrom(
  temporal: TemporalEnvironment,
): Promise<ServerOptions & { readonly namespace: string }> {
  const { address = '', namespace, apiKey, configuration } = temporal;
  if (configuration !== undefined) return configuredServer(configuration);
  rememberSecret(apiKey);
  const tls = temporal.tls && (await tlsConfigFrom(temporal));
  return { address, namespace, tls, ...defined({ apiKey }) };
}

/** The server of Temporal's environment configuration: a profile of a file, under variables that override it. */
function configuredServer(
  variables: Readonly<Record<string, string>>,
): ServerOptions & { readonly namespace: string } {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- jest has no import() in CommonJS (ADR 0029).
  const { loadClientConnectConfig } = require('@temporalio/envconfig') as typeof EnvConfig;
  const profile = variables['TEMPORAL_PROFILE'] ?? 'default';
  const file = variables['TEMPORAL_CONFIG_FILE'] ?? 'the file of `temporal config`';
  const fault = (problem: string, cause?: unknown): SetupError =>
    new SetupError(
      `Temporal's environment configuration is not usable: ${problem} (profile "${profile}", ${file}). Correct TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE, or the file; \`temporal config list\` shows its profiles.`,
      { cause },
    );
  const load = () => {
    try {
      return loadClientConnectConfig({ overrideEnvVars: variables, configFileStrict: true });
    } catch (thrown) {
      throw fault(reasonOf(thrown), thrown);
    }
  };
  const { namespace = 'default', connectionOptions } = load();
  const { address, apiKey, tls, metadata } = connectionOptions;
  if (address === undefined || address === '') throw fault('it names no address');
  const key = typeof apiKey === 'string' ? apiKey : undefined;
  rememberSecret(key);
  const headers = metadata as Readonly<Record<string, string>> | undefined;
  const more = { apiKey: key, tls: tls ?? undefined, metadata: headers };
  return { address, namespace, ...defined(more) };
}

/** Errors: `SetupError` for what is no server's address. */
function given(options: ServerOptions): ServerOptions {
  const { address } = (options as Partial<ServerOptions> | undefined) ?? {};
  if (typeof address === 'string' && /^(\[[\da-f:]+\]|[^\s:/]+)(:\d{1,5})?$/i.test(address))
    return options;
  const shown = address === undefined ? 'missing' : JSON.stringify(address).slice(0, 100);
  throw new SetupError(
    `The address of Temporal is ${shown}. Give { address: 'host:port' } without a scheme, or what openTemporal() returned.`,
  );
}

/**
 * Resolves if the server serves the namespace.
 *
 * Errors: `SetupError` that names the address or namespace and what to do, within twice `connectTimeoutMs`.
 */
export async function requireServing(options: ServerOptions): Promise<void> {
  const { address, namespace = 'default', connectTimeoutMs = defaultTimeoutMs } = given(options);
  const problem = await waitUntilServing(options, Date.now() + connectTimeoutMs);
  if (problem === undefined) return;
  if (problem.type === 'unreachable') throw unreachable(options, problem.reason);
  throw new SetupError(
    `Temporal at ${address} answers, but not for namespace "${namespace}": ${problem.reason}. ` +
      'Check TEMPORAL_NAMESPACE and the credentials (TEMPORAL_API_KEY or TEMPORAL_TLS_*), or create the namespace: ' +
      `\`temporal operator namespace create --namespace ${namespace}\`.`,
  );
}

/**
 * Asks until the server serves the namespace, `giveUp` returns a reason to stop, or the deadline passes.
 *
 * Returns undefined when it serves, else the last problem.
 */
export async function waitUntilServing(
  options: ServerOptions,
  deadlineAtMs: number,
  giveUp: () => string | undefined = () => undefined,
): Promise<ServerProblem | undefined> {
  for (;;) {
    const problem = await probe(options);
    if (problem === undefined) return undefined;
    const reason = giveUp();
    if (reason !== undefined) return { type: 'ended', reason };
    if (Date.now() >= deadlineAtMs) return problem;
    await delay(pollMs);
  }
}

/** Connects and describes the namespace once. Returns undefined if the server serves it. */
async function probe({
  address,
  namespace = 'default',
  apiKey,
  tls,
  metadata,
}: ServerOptions): Promise<ServerProblem | undefined> {
  let connection: Connection;
  try {
    connection = await Connection.connect({
      address,
      connectTimeout: attemptTimeoutMs,
      plugins: [closedConnection],
      ...defined({ apiKey, tls, metadata }),
    });
  } catch (thrown) {
    return { type: 'unreachable', reason: reasonOf(thrown) };
  }
  try {
    await connection.withDeadline(Date.now() + attemptTimeoutMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return undefined;
  } catch (thrown) {
    const isDown = isGrpcServiceError(thrown) && downCodes.has(thrown.code);
    return { type: isDown ? 'unreachable' : 'refused', reason: reasonOf(thrown) };
  } finally {
    await connection.close();
  }
}

/** The error for a server that does not answer. */
export function unreachable({ address }: ServerOptions, reason: string): UnreachableError {
  return new UnreachableError(
    `Temporal does not answer at ${address}: ${reason}. Start a server there, correct TEMPORAL_ADDRESS ` +
      '(host:port, and TEMPORAL_TLS=true if the server wants TLS), or unset it to use the embedded server.',
  );
}

async function tlsConfigFrom(temporal: TemporalEnvironment): Promise<TLSConfig> {
  const { tlsServerName, tlsServerCaPath, tlsClientCertPath, tlsClientKeyPath } = temporal;
  const [ca, crt, key] = await Promise.all([
    readPem('TEMPORAL_TLS_SERVER_CA_CERT_PATH', tlsServerCaPath),
    readPem('TEMPORAL_TLS_CLIENT_CERT_PATH', tlsClientCertPath),
    readPem('TEMPORAL_TLS_CLIENT_KEY_PATH', tlsClientKeyPath),
  ]);
  return defined({
    serverNameOverride: tlsServerName,
    serverRootCACertificate: ca,
    clientCertPair: crt && key && { crt, key },
  });
}

async function readPem(variable: string, file: string | undefined): Promise<Buffer | undefined> {
  try {
    return file === undefined ? undefined : await readFile(file);
  } catch (thrown) {
    throw new SetupError(
      `${variable} is ${JSON.stringify(file)}, which cannot be read: ${reasonOf(thrown)}. Set it to a PEM file.`,
      { cause: thrown },
    );
  }
}
