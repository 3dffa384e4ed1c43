/** The only reader of the environment's variables: checked, typed, with errors that name the remedy. */
import path from 'node:path';
import { z } from 'zod';
import { defaultTaskQueue } from '../workflows/contract';
import { defined } from '../workflows/core/json';
import { SetupError } from './setup-error';

/** How to reach a Temporal server that is not embedded. Names as in Temporal's own environment configuration. */
export interface TemporalEnvironment {
  /** `host:port`; absent: an embedded server is used. */
  readonly address?: string;
  readonly namespace: string;
  readonly apiKey?: string;
  readonly tls: boolean;
  readonly tlsServerName?: string;
  readonly tlsServerCaPath?: string;
  readonly tlsClientCertPath?: string;
  readonly tlsClientKeyPath?: string;
}

/** Account at one vendor. */
interface VendorEnvironment {
  readonly apiKey?: string;
  readonly baseUrl?: string;
}

/** One route that was named by a variable. */
interface ModelEnvironment {
  readonly provider: string;
  readonly model: string;
}

/** Levels of the log, least first. */
type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** All that Holdfast takes from the environment. */
export interface Environment {
  readonly temporal: TemporalEnvironment;
  readonly taskQueue: string;
  /** `sqlite:<absolute path>` or `postgres://...`, as `openStore` takes it. */
  readonly store: string;
  /** Folder of everything that Holdfast keeps on this machine: `.holdfast` in the working directory. */
  readonly stateDirectory: string;
  /** Folder of fetched programs and prebuilt bundles. */
  readonly cacheDirectory: string;
  /** The variable PATH. */
  readonly searchPath: string;
  readonly anthropic: VendorEnvironment;
  readonly openai: VendorEnvironment;
  /** First is the primary; empty when no model was named. */
  readonly models: readonly ModelEnvironment[];
  readonly logLevel: LogLevel;
  readonly buildId?: string;
  /** True in CI. */
  readonly ci: boolean;
}

const defaultStateFolder = '.holdfast';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
const secretNames = new Set([
  'TEMPORAL_API_KEY',
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'HOLDFAST_STORE',
]);

const address = z
  .string()
  .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:/]+):\d{1,5}$/, 'set it to host:port, such as localhost:7233')
  .refine((value) => !(Number(/\d+$/.exec(value)?.[0]) > 65_535), {
    error: 'the port is at most 65535',
  });
const url = z
  .string()
  .regex(/^https?:\/\/[^\s/]+/, 'set it to a URL that begins with http:// or https://');
const secret = z.string().regex(/^\S+$/, 'set it to the key without spaces or line breaks');
const name = (example: string): z.ZodString =>
  z
    .string()
    .max(255, 'use at most 255 characters')
    .regex(/^\S+$/, `set it to a name without spaces, such as ${example}`);
const flag = z
  .enum(['true', 'false', '1', '0'], { error: 'set it to true or false' })
  .transform((value) => value === 'true' || value === '1');
const models = z
  .string()
  .transform((value) => value.split(',').map((part) => part.trim()))
  .pipe(
    z.array(
      z
        .string()
        .regex(
          /^[^/\s]+\/\S+$/,
          'set it to provider/model, such as anthropic/claude-sonnet-4-5; further ones after a comma take over in this order',
        )
        .transform((value) => ({
          provider: value.slice(0, value.indexOf('/')),
          model: value.slice(value.indexOf('/') + 1),
        })),
    ),
  );

const schema = z.object({
  TEMPORAL_ADDRESS: address.optional(),
  TEMPORAL_NAMESPACE: name('default').optional(),
  TEMPORAL_API_KEY: secret.optional(),
  TEMPORAL_TLS: flag.optional(),
  TEMPORAL_TLS_SERVER_NAME: name('temporal.example.com').optional(),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_CLIENT_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_CLIENT_KEY_PATH: z.string().optional(),
  HOLDFAST_TASK_QUEUE: name(defaultTaskQueue).optional(),
  HOLDFAST_STORE: z
    .string()
    .refine((value) => !/^[a-z]+:/i.test(value) || /^(sqlite:.|postgres(ql)?:\/\/.)/.test(value), {
      error: 'set it to a file path, sqlite:PATH or postgres://user:password@host:5432/database',
    })
    .optional(),
  HOLDFAST_CACHE_DIR: z.string().optional(),
  HOLDFAST_MODEL: models.optional(),
  HOLDFAST_LOG_LEVEL: z.enum(logLevels, { error: `use one of ${logLevels.join(', ')}` }).optional(),
  HOLDFAST_BUILD_ID: name('2026-11-28.1').optional(),
  ANTHROPIC_API_KEY: secret.optional(),
  ANTHROPIC_BASE_URL: url.optional(),
  OPENAI_API_KEY: secret.optional(),
  OPENAI_BASE_URL: url.optional(),
  PATH: z.string().optional(),
  CI: z.string().optional(),
});

type Variables = z.infer<typeof schema>;

/**
 * Reads and checks the environment.
 *
 * Contract: an empty variable counts as absent; relative paths are taken from `directory`.
 * Errors: one `SetupError` that lists every wrong variable with its value (secrets never shown) and the remedy.
 */
export function readEnvironment(
  source: Readonly<Record<string, string | undefined>> = process.env,
  directory: string = process.cwd(),
): Environment {
  const variables = parseVariables(source);
  const stateDirectory = path.join(directory, defaultStateFolder);
  return {
    temporal: temporalFrom(variables),
    taskQueue: variables.HOLDFAST_TASK_QUEUE ?? defaultTaskQueue,
    store: storeFrom(variables.HOLDFAST_STORE, directory),
    cacheDirectory: path.resolve(
      directory,
      variables.HOLDFAST_CACHE_DIR ?? path.join(stateDirectory, 'cache'),
    ),
    stateDirectory,
    searchPath: variables.PATH ?? '',
    anthropic: defined({
      apiKey: variables.ANTHROPIC_API_KEY,
      baseUrl: variables.ANTHROPIC_BASE_URL,
    }),
    openai: defined({ apiKey: variables.OPENAI_API_KEY, baseUrl: variables.OPENAI_BASE_URL }),
    models: variables.HOLDFAST_MODEL ?? [],
    logLevel: variables.HOLDFAST_LOG_LEVEL ?? 'info',
    ...defined({ buildId: variables.HOLDFAST_BUILD_ID }),
    ci: variables.CI !== undefined && variables.CI !== 'false',
  };
}

function parseVariables(source: Readonly<NodeJS.ProcessEnv>): Variables {
  const given = Object.fromEntries(
    Object.keys(schema.shape)
      .map((key) => [key, source[key]?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = schema.safeParse(given);
  const faults = parsed.success ? [] : parsed.error.issues.map((issue) => faultLine(issue, given));
  const pair = ['TEMPORAL_TLS_CLIENT_CERT_PATH', 'TEMPORAL_TLS_CLIENT_KEY_PATH'];
  const [there] = pair.filter((key) => given[key] !== undefined);
  const [missing] = pair.filter((key) => given[key] === undefined);
  if (there !== undefined && missing !== undefined)
    faults.push(`${there} is set but ${missing} is not: set both`);
  if (!parsed.success || faults.length > 0) {
    throw new SetupError(
      ['The environment is not usable:', ...faults.map((line) => `  - ${line}`)].join('\n'),
    );
  }
  return parsed.data;
}

function faultLine(issue: z.core.$ZodIssue, given: Readonly<NodeJS.ProcessEnv>): string {
  const key = String(issue.path[0]);
  return `${key} is ${shownValue(key, given[key] ?? '')}: ${issue.message}`;
}

function shownValue(key: string, value: string): string {
  if (secretNames.has(key)) return `set (${value.length} characters, not shown)`;
  return JSON.stringify(value.replace(/\/\/[^@/\s]*@/, '//***@').slice(0, 80));
}

function temporalFrom(variables: Variables): TemporalEnvironment {
  return {
    namespace: variables.TEMPORAL_NAMESPACE ?? 'default',
    tls: variables.TEMPORAL_TLS ?? impliesTls(variables),
    ...defined({
      address: variables.TEMPORAL_ADDRESS,
      apiKey: variables.TEMPORAL_API_KEY,
      tlsServerName: variables.TEMPORAL_TLS_SERVER_NAME,
      tlsServerCaPath: variables.TEMPORAL_TLS_SERVER_CA_CERT_PATH,
      tlsClientCertPath: variables.TEMPORAL_TLS_CLIENT_CERT_PATH,
      tlsClientKeyPath: variables.TEMPORAL_TLS_CLIENT_KEY_PATH,
    }),
  };
}

function impliesTls(variables: Variables): boolean {
  return [
    variables.TEMPORAL_API_KEY,
    variables.TEMPORAL_TLS_SERVER_NAME,
    variables.TEMPORAL_TLS_SERVER_CA_CERT_PATH,
    variables.TEMPORAL_TLS_CLIENT_CERT_PATH,
  ].some((value) => value !== undefined);
}

function storeFrom(value: string | undefined, directory: string): string {
  const location = value ?? path.join(defaultStateFolder, 'holdfast.db');
  if (/^postgres(ql)?:/.test(location)) return location;
  return `sqlite:${path.resolve(directory, location.replace(/^sqlite:/, ''))}`;
}
