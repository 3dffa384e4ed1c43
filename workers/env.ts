/** The only reader of the environment's variables: checked, typed, with errors that name the remedy. */
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import path from 'node:path';
import { distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { defaultTaskQueue } from '../workflows/contract';
import { tenantCapsShape } from '../activities/definitions/tenant-caps';
import { rememberSecretsOf } from '../activities/untrusted/known-secrets';
import { defined } from '../workflows/core/json';
import { SetupError } from './setup-error';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** What the log shows. */
type LogLevel = (typeof logLevels)[number];
const secretNames = new Set([
  'TEMPORAL_API_KEY',
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'HOLDFAST_STORE',
  'HOLDFAST_ENCRYPTION_KEYS',
  'HOLDFAST_CODEC_TOKEN',
]);

const address = z
  .string()
  .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:/]+):\d{1,5}$/, 'set it to host:port, such as localhost:7233')
  .refine((value) => !(Number(/\d{1,5}$/.exec(value)?.[0]) > 65_535), {
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
/** As `RunCommandOptions` has it. */
const sandbox = z
  .enum(['true', 'network', 'false', '1', '0'], {
    error: 'set it to true (commands have no network), network or false',
  })
  .transform((value): false | { readonly network: boolean } =>
    value === 'false' || value === '0' ? false : { network: value === 'network' },
  );
/** `id:key`, further ones after a comma. A key's id may hold colons, and its text holds none. */
const encryptionKeys = z
  .string()
  .transform((value) => value.split(',').map((part) => part.trim()))
  .pipe(
    z.array(
      z
        .string()
        .regex(
          /^[^\s,]{1,200}:([0-9a-fA-F]{64}|[\w+/-]{43}=?)$/,
          'set it to id:key, each key of 32 bytes in base64 or hexadecimal digits (`openssl rand -base64 32` makes one); the first encrypts, further ones after a comma only decrypt',
        )
        .transform((value): readonly [string, string] => {
          const colon = value.lastIndexOf(':');
          return [value.slice(0, colon), value.slice(colon + 1)];
        }),
    ),
  )
  .refine((pairs) => new Set(pairs.map(([id]) => id)).size === pairs.length, {
    error: 'two keys have the same id: give each its own',
  })
  .transform((pairs) => ({ keyId: pairs[0]?.[0] ?? '', keys: Object.fromEntries(pairs) }));
/** `port` of the loopback interface, or `host:port`. */
export const listenSchema = z
  .string()
  .regex(/^((\[[0-9a-fA-F:]+\]|[^\s:/]+):)?\d{1,5}$/, 'set it to port or host:port, such as 8081')
  .refine((value) => !(Number(/\d{1,5}$/.exec(value)?.[0]) > 65_535), {
    error: 'the port is at most 65535',
  })
  .transform((value) => {
    const colon = value.lastIndexOf(':');
    const host = value.slice(0, Math.max(0, colon)).replace(/^\[|\]$/g, '');
    return { host: host || '127.0.0.1', port: Number(value.slice(colon + 1)) };
  });
/** As `createActivities({ tenantCaps })` has it. */
const tenantCaps = z
  .string()
  .transform((value, context): unknown => {
    try {
      return JSON.parse(value);
    } catch {
      context.addIssue(
        'set it to JSON such as {"*": {"usd": 50}, "acme": {"usd": 500, "runs": 20}}',
      );
      return z.NEVER;
    }
  })
  .pipe(tenantCapsShape);
/** `provider/model`, further ones after a comma. */
export const modelsSchema = z
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
  TEMPORAL_PROFILE: name('prod').optional(),
  TEMPORAL_CONFIG_FILE: z.string().optional(),
  HOLDFAST_TASK_QUEUE: name(defaultTaskQueue).optional(),
  HOLDFAST_STORE: z
    .string()
    .refine((value) => !/^[a-z]+:/i.test(value) || /^(sqlite:.|postgres(ql)?:\/\/.)/.test(value), {
      error: 'set it to a file path, sqlite:PATH or postgres://user:password@host:5432/database',
    })
    .optional(),
  HOLDFAST_STATE_DIR: z.string().optional(),
  HOLDFAST_CACHE_DIR: z.string().optional(),
  HOLDFAST_MODEL: modelsSchema.optional(),
  HOLDFAST_SANDBOX: sandbox.optional(),
  HOLDFAST_SECRETS_FILE: z.string().optional(),
  HOLDFAST_LOG_LEVEL: z.enum(logLevels, { error: `use one of ${logLevels.join(', ')}` }).optional(),
  HOLDFAST_APPROVERS: z
    .string()
    .transform((value) => value.split(',').map((key) => key.trim()))
    .optional(),
  HOLDFAST_APPROVAL_KEY: z.string().optional(),
  HOLDFAST_BUILD_ID: name('2026-11-28.1').optional(),
  HOLDFAST_DEPLOYMENT: z
    .string()
    .regex(/^[^.\s]+$/, 'set it to a name without dots and spaces, such as agents')
    .optional(),
  HOLDFAST_GATEWAY_TOKENS: z.string().optional(),
  HOLDFAST_HEALTH_PORT: listenSchema.optional(),
  HOLDFAST_TENANT_CAPS: tenantCaps.optional(),
  HOLDFAST_DATA_CONVERTER: z.string().optional(),
  HOLDFAST_ENCRYPTION_KEYS: encryptionKeys.optional(),
  HOLDFAST_CODEC_TOKEN: secret.min(16, 'use at least 16 characters').optional(),
  ANTHROPIC_API_KEY: secret.optional(),
  ANTHROPIC_BASE_URL: url.optional(),
  OPENAI_API_KEY: secret.optional(),
  OPENAI_BASE_URL: url.optional(),
  PATH: z.string().optional(),
  HOME: z.string().optional(),
  XDG_STATE_HOME: z.string().optional(),
  CI: z.string().optional(),
});

type Variables = z.infer<typeof schema>;

/** Whether a variable is a setting of Holdfast that is no secret. */
export function isSettingName(name: string): boolean {
  return name in schema.shape && !secretNames.has(name);
}

/** All that Holdfast takes from the environment. */
export type Environment = Readonly<ReturnType<typeof environmentFrom>>;

/** How to reach a Temporal server; without an address, an embedded one is used. */
export type TemporalEnvironment = Environment['temporal'];

/**
 * Reads and checks the environment.
 *
 * Contract: an empty variable counts as absent; relative paths are taken from `directory`.
 * Secrets among the variables, also those of others, are remembered, so that no text shows them.
 * Errors: one `SetupError` that lists every wrong variable with its value (secrets never shown) and the remedy.
 */
export function readEnvironment(
  source: Readonly<Record<string, string | undefined>> = process.env,
  directory: string = process.cwd(),
): Environment {
  if (typeof source !== 'object')
    throw new SetupError('readEnvironment takes variables by name; leave it out for process.env.');
  rememberSecretsOf(source);
  return environmentFrom(parseVariables(source), directory, source);
}

/** OpenTelemetry's own variables, for `startTelemetry`, which checks them. */
const openTelemetryName = /^OTEL_/;

function environmentFrom(
  variables: Variables,
  directory: string,
  source: Readonly<Record<string, string | undefined>>,
) {
  const { stateDirectory, cacheDirectory } = foldersFrom(variables, path.resolve(directory));
  return {
    temporal: temporalFrom(variables, configurationIn(source, directory)),
    taskQueue: variables.HOLDFAST_TASK_QUEUE ?? defaultTaskQueue,
    /** `sqlite:<absolute path>` or `postgres://...`, as `openStore` takes it. */
    store: storeFrom(variables.HOLDFAST_STORE, directory, stateDirectory),
    /** Folder of fetched programs and prebuilt bundles. */
    cacheDirectory,
    /** Folder of everything that Holdfast keeps on this machine for this working directory, outside of it. */
    stateDirectory,
    /** The variable PATH. */
    searchPath: variables.PATH ?? '',
    anthropic: defined({
      apiKey: variables.ANTHROPIC_API_KEY,
      baseUrl: variables.ANTHROPIC_BASE_URL,
    }),
    openai: defined({ apiKey: variables.OPENAI_API_KEY, baseUrl: variables.OPENAI_BASE_URL }),
    /** First is the primary; empty when no model was named. */
    models: variables.HOLDFAST_MODEL ?? [],
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-assertion -- declarations then have the name, not its words in an order that changes from build to build
    logLevel: (variables.HOLDFAST_LOG_LEVEL ?? 'info') as LogLevel,
    /** How the built-in agent's commands run; false: with the rights of the worker. */
    sandbox: variables.HOLDFAST_SANDBOX ?? false,
    ci: variables.CI !== undefined && variables.CI !== 'false',
    openTelemetry: Object.fromEntries(
      Object.entries(source).filter(([key]) => openTelemetryName.test(key)),
    ),
    ...defined({
      buildId: variables.HOLDFAST_BUILD_ID,
      /** Name of the worker deployment whose version `buildId` is; absent: workers have no versions. */
      deploymentName: variables.HOLDFAST_DEPLOYMENT,
      /** Public keys of the people who may decide on approvals. */
      approvers: variables.HOLDFAST_APPROVERS,
      /** What `createEncryption` takes. */
      encryptionKeys: variables.HOLDFAST_ENCRYPTION_KEYS,
      /** What the callers of `holdfast codec-server` send. */
      codecToken: variables.HOLDFAST_CODEC_TOKEN,
      /** Module that exports the `dataConverter`, or the `encryption`, of workers and clients. */
      dataConverterFile: fileFrom(variables.HOLDFAST_DATA_CONVERTER, directory),
      /** Who may use the gateway, as JSON. */
      gatewayTokens: variables.HOLDFAST_GATEWAY_TOKENS,
      /** Where a worker answers probes. */
      health: variables.HOLDFAST_HEALTH_PORT,
      tenantCaps: variables.HOLDFAST_TENANT_CAPS,
      /** File of the private key that signs decisions. */
      approvalKeyFile: fileFrom(variables.HOLDFAST_APPROVAL_KEY, directory),
    }),
  };
}

/** Not in the working directory: that is often an agent's workspace, whose files the agent's programs may change. */
function foldersFrom(variables: Variables, directory: string) {
  const { HOME: home = homedir(), XDG_STATE_HOME: stateHome = path.join(home, '.local/state') } =
    variables;
  const shared = path.join(stateHome, 'holdfast');
  const digest = createHash('sha256').update(directory).digest('hex').slice(0, 8);
  const own = path.join(shared, `${path.basename(directory)}-${digest}`);
  const { HOLDFAST_STATE_DIR: given, HOLDFAST_CACHE_DIR: cache } = variables;
  return {
    stateDirectory: path.resolve(directory, given ?? own),
    cacheDirectory: path.resolve(directory, cache ?? path.join(given ?? shared, 'cache')),
  };
}

function fileFrom(value: string | undefined, directory: string): string | undefined {
  return value === undefined ? undefined : path.resolve(directory, value);
}

/** Variables by which Temporal's environment configuration goes beyond those that are read here. */
const configuring =
  /^TEMPORAL_(PROFILE|CONFIG_FILE|GRPC_META_.+|TLS_(CLIENT_CERT|CLIENT_KEY|SERVER_CA_CERT)_DATA)$/;

/** What `@temporalio/envconfig` reads, if a variable asks for it; without one, no file of profiles has a say. */
function configurationIn(
  source: Readonly<Record<string, string | undefined>>,
  directory: string,
): Readonly<Record<string, string>> | undefined {
  const given = Object.entries(source).flatMap(([name, value = '']): [string, string][] =>
    value.trim() === '' ? [] : [[name, value.trim()]],
  );
  if (!given.some(([name]) => configuring.test(name))) return undefined;
  const file = fileFrom(source['TEMPORAL_CONFIG_FILE']?.trim(), directory);
  const places = given.filter(([name]) =>
    /^(TEMPORAL_|HOME$|XDG_CONFIG_HOME$|APPDATA$)/.test(name),
  );
  return { ...Object.fromEntries(places), ...defined({ TEMPORAL_CONFIG_FILE: file || undefined }) };
}

function temporalFrom(
  variables: Variables,
  configuration: Readonly<Record<string, string>> | undefined,
) {
  const { TEMPORAL_NAMESPACE: namespace = 'default', TEMPORAL_TLS: tls } = variables;
  const secured = {
    apiKey: variables.TEMPORAL_API_KEY,
    tlsServerName: variables.TEMPORAL_TLS_SERVER_NAME,
    tlsServerCaPath: variables.TEMPORAL_TLS_SERVER_CA_CERT_PATH,
    tlsClientCertPath: variables.TEMPORAL_TLS_CLIENT_CERT_PATH,
    tlsClientKeyPath: variables.TEMPORAL_TLS_CLIENT_KEY_PATH,
  };
  return {
    namespace,
    tls: tls ?? Object.values(secured).some((value) => value !== undefined),
    ...defined({
      address: variables.TEMPORAL_ADDRESS,
      ...secured,
      /** For `@temporalio/envconfig`, which then has the last word on all of this. */
      configuration,
    }),
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
  faults.push(...misspelled(source));
  if (given['HOLDFAST_DEPLOYMENT'] !== undefined && given['HOLDFAST_BUILD_ID'] === undefined)
    faults.push('HOLDFAST_DEPLOYMENT is set but HOLDFAST_BUILD_ID is not: set both');
  if (given['HOLDFAST_DATA_CONVERTER'] !== undefined && 'HOLDFAST_ENCRYPTION_KEYS' in given)
    faults.push(
      'HOLDFAST_DATA_CONVERTER and HOLDFAST_ENCRYPTION_KEYS are both set: set one. The module may export `encryption`, made by createEncryption',
    );
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

/** Letters by which a name may differ from a variable that it probably means. Other names may be anybody's. */
const misspelledLetters = 2;

/** A misspelled variable would be ignored, and another server or store used without a word. */
function misspelled(source: Readonly<NodeJS.ProcessEnv>): readonly string[] {
  const known = Object.keys(schema.shape).filter((key) => key.startsWith('HOLDFAST_'));
  const unknown = Object.keys(source).filter(
    (key) => key.startsWith('HOLDFAST_') && !known.includes(key),
  );
  return unknown.flatMap((key) => {
    const meant = known.find((other) => distance(key, other) <= misspelledLetters);
    return meant === undefined
      ? []
      : [`${key} is not a variable of Holdfast: did you mean ${meant}?`];
  });
}

function faultLine(issue: z.core.$ZodIssue, given: Readonly<NodeJS.ProcessEnv>): string {
  const key = String(issue.path[0]);
  return `${key} is ${shownValue(key, given[key] ?? '')}: ${issue.message}`;
}

function shownValue(key: string, value: string): string {
  if (secretNames.has(key)) return `set (${value.length} characters, not shown)`;
  return JSON.stringify(value.replace(/\/\/[^@/\s]*@/, '//***@').slice(0, 80));
}

function storeFrom(value: string | undefined, directory: string, state: string): string {
  const location = value ?? path.join(state, 'holdfast.db');
  if (/^postgres(ql)?:/.test(location)) return location;
  return `sqlite:${path.resolve(directory, location.replace(/^sqlite:/, ''))}`;
}
