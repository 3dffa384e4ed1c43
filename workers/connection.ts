/** Connections to a Temporal server, made within a bounded time or refused with a clear reason. */
import { readFile } from 'node:fs/promises';
import { Connection } from '@temporalio/client';
import type { ConnectionOptions, TLSConfig } from '@temporalio/client';
import type { TemporalEnvironment } from './env';
import type { ProbeTarget } from './server-probe';
import { waitUntilServing } from './server-probe';
import { reasonOf, SetupError } from './setup-error';

/** Which server, and as whom. */
export interface ConnectOptions {
  /** `host:port`. */
  readonly address: string;
  /** Checked on connecting. Default `default`. */
  readonly namespace?: string;
  readonly apiKey?: string;
  readonly tls?: TLSConfig | boolean;
  /** How long the server may take to answer. Default 5,000. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 5_000;

/**
 * Options for the server that the environment names.
 *
 * Errors: `SetupError` that names the variable if a certificate cannot be read.
 */
export async function connectOptionsFrom(
  temporal: TemporalEnvironment,
  address: string,
): Promise<ConnectOptions> {
  return {
    address,
    namespace: temporal.namespace,
    ...(temporal.apiKey === undefined ? {} : { apiKey: temporal.apiKey }),
    tls: temporal.tls ? await tlsConfigFrom(temporal) : false,
  };
}

/**
 * Connects for clients and for the set-up.
 *
 * Errors: `SetupError` that names the address or namespace and what to do, within twice `timeoutMs`.
 */
export async function connectClient(
  options: ConnectOptions,
  channelArgs: ConnectionOptions['channelArgs'] = {},
): Promise<Connection> {
  await requireServing(options);
  try {
    return await Connection.connect({
      address: options.address,
      connectTimeout: options.timeoutMs ?? defaultTimeoutMs,
      channelArgs,
      ...credentialsOf(options),
    });
  } catch (thrown) {
    throw unreachable(options, reasonOf(thrown));
  }
}

/**
 * Resolves if the server serves the namespace.
 *
 * Errors: as `connectClient`.
 */
export async function requireServing(options: ConnectOptions): Promise<void> {
  const target: ProbeTarget = {
    address: options.address,
    namespace: namespaceOf(options),
    connection: credentialsOf(options),
  };
  const deadlineAtMs = Date.now() + (options.timeoutMs ?? defaultTimeoutMs);
  const problem = await waitUntilServing(target, deadlineAtMs);
  if (problem === undefined) return;
  if (problem.type === 'unreachable') throw unreachable(options, problem.reason);
  throw new SetupError(
    `Temporal at ${options.address} answers, but not for namespace "${namespaceOf(options)}": ${problem.reason}. ` +
      'Check TEMPORAL_NAMESPACE and the credentials (TEMPORAL_API_KEY or TEMPORAL_TLS_*), or create the namespace: ' +
      `\`temporal operator namespace create --namespace ${namespaceOf(options)}\`.`,
  );
}

/** The error for a server that does not answer. */
export function unreachable(options: ConnectOptions, reason: string): SetupError {
  return new SetupError(
    `Temporal does not answer at ${options.address}: ${reason}. Start a server there, correct TEMPORAL_ADDRESS ` +
      '(host:port, and TEMPORAL_TLS=true if the server wants TLS), or unset it to use the embedded server.',
  );
}

function namespaceOf(options: ConnectOptions): string {
  return options.namespace ?? 'default';
}

/** The account and TLS settings, as the SDK's connections take them. */
export function credentialsOf(options: ConnectOptions): {
  apiKey?: string;
  tls?: TLSConfig | boolean;
} {
  return {
    ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
    ...(options.tls === undefined ? {} : { tls: options.tls }),
  };
}

async function tlsConfigFrom(temporal: TemporalEnvironment): Promise<TLSConfig> {
  const { tlsServerName, tlsServerCaPath, tlsClientCertPath, tlsClientKeyPath } = temporal;
  const config: TLSConfig = {};
  if (tlsServerName !== undefined) config.serverNameOverride = tlsServerName;
  if (tlsServerCaPath !== undefined) {
    config.serverRootCACertificate = await readPem(
      'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
      tlsServerCaPath,
    );
  }
  if (tlsClientCertPath !== undefined && tlsClientKeyPath !== undefined) {
    config.clientCertPair = {
      crt: await readPem('TEMPORAL_TLS_CLIENT_CERT_PATH', tlsClientCertPath),
      key: await readPem('TEMPORAL_TLS_CLIENT_KEY_PATH', tlsClientKeyPath),
    };
  }
  return config;
}

async function readPem(variable: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (thrown) {
    throw new SetupError(
      `${variable} is ${JSON.stringify(file)}, which cannot be read: ${reasonOf(thrown)}. Set it to a PEM file.`,
      { cause: thrown },
    );
  }
}
