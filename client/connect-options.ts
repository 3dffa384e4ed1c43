/** What a client is made with, and its check before anything connects. */
import type { Client, ConnectionOptions, TLSConfig } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { z } from 'zod';
import { check, encryptionSchema, optionsOf, storeSchema } from './check-input';
import { ClientError } from './client-error';
import type { ClientEncryption, ClientStore } from './run-access';

/** Where Temporal is, with which account to connect, and how the client works. */
export interface ConnectOptions {
  /** `host:port`. Default `localhost:7233`. */
  readonly address?: string;
  /** Default `default`. */
  readonly namespace?: string;
  readonly apiKey?: string;
  readonly tls?: ConnectionOptions['tls'];
  /** Headers of each request. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** From `createEncryption`, with the keys of the workers. It replaces `dataConverter`. */
  readonly encryption?: ClientEncryption;
  /** The same as the workers', where payloads are encoded. */
  readonly dataConverter?: DataConverter;
  /** Milliseconds that the server may take to answer. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds that Temporal may take for one answer, repeats included, before `unreachable`; a wait for the end of a run is
   * not bounded. Default: about 23 s of repeats if it is down, and no limit if it hangs.
   */
  readonly answerTimeoutMs?: number;
  /** Task queue of the workers. Default `holdfast`. */
  readonly taskQueue?: string;
  /** False for a namespace without Holdfast's search attributes; `list` then finds nothing by status or agent. Default true. */
  readonly searchAttributes?: boolean;
  /**
   * PEM text of an Ed25519 private key (`holdfast approval-key`): decisions on approvals are signed with it, for workers with
   * `approvers`. Keep it where no worker and no program of an agent can read it.
   */
  readonly approvalKey?: string;
  /**
   * The workers' store (`await openStore(url)`), for images and files, which never travel through Temporal, and for `events` with
   * `text`. Without it, only text can be sent. Whoever opened it closes it.
   */
  readonly store?: ClientStore;
}

const text = (what: string): z.ZodType =>
  z
    .string({ error: `${what} must be a string` })
    .regex(/\S/, { error: `${what} is empty` })
    .optional();

const milliseconds = (name: string): z.ZodType =>
  z
    .number({ error: `\`${name}\` must be a number of milliseconds` })
    .positive({ error: `\`${name}\` must be more than 0` })
    .optional();

const tlsNames = {
  serverNameOverride: true,
  serverRootCACertificate: true,
  clientCertPair: true,
} satisfies Readonly<Record<keyof TLSConfig, true>>;

const connectFields = {
  address: z
    .string({ error: '`address` must be a string such as "localhost:7233"' })
    .regex(/^(\[[\da-fA-F:]+\]|[^\s:/]+)(:\d{1,5})?$/, {
      error: ({ input }) =>
        `\`address\` is ${JSON.stringify(String(input).slice(0, 100))}; give host:port without a scheme, such as "localhost:7233"`,
    })
    .optional(),
  namespace: text('`namespace`'),
  apiKey: text('`apiKey`'),
  tls: z
    .custom((value) => value === null || ['boolean', 'object'].includes(typeof value), {
      error: '`tls` must be true, false, or an object of certificates',
    })
    .superRefine((value, context) => {
      const unknown = Object.keys(value ?? {}).find((key) => !(key in tlsNames));
      if (unknown !== undefined)
        context.addIssue({
          code: 'custom',
          message: `\`tls\` has no option "${unknown}"; it takes ${Object.keys(tlsNames).join(', ')}`,
        });
    })
    .optional(),
  metadata: z
    .record(z.string(), z.string(), { error: '`metadata` must be an object of strings by name' })
    .optional(),
  encryption: encryptionSchema.optional(),
  // Checked where it is used.
  dataConverter: z.unknown().optional(),
  connectTimeoutMs: milliseconds('connectTimeoutMs'),
  answerTimeoutMs: milliseconds('answerTimeoutMs'),
  taskQueue: text('`taskQueue`'),
  searchAttributes: z.boolean({ error: '`searchAttributes` must be true or false' }).optional(),
  approvalKey: text('`approvalKey`'),
  store: storeSchema.optional(),
} satisfies Readonly<Record<keyof ConnectOptions, z.ZodType>>;

/** `openTemporal` returns more than a client needs. */
const ofServer = { uiUrl: z.unknown().optional(), embedded: z.unknown().optional() };
const connectSchema = optionsOf(
  'a client',
  { ...connectFields, ...ofServer },
  Object.keys(connectFields),
);

/** Errors: `invalid-input` that names each option with its fault. */
export function checkConnectOptions(options: unknown): void {
  check(connectSchema, options);
}

/** Errors: `invalid-input` for a connection, or one of the clients that a `Client` has. */
export function checkClient(client: Client): void {
  const { workflow } = { ...(client as Partial<Client> | undefined) };
  if (typeof workflow?.start === 'function') return;
  throw new ClientError(
    'invalid-input',
    'new AgentClient takes a `Client` of @temporalio/client: new Client({ connection }). To connect by address, use connect({ address }).',
  );
}
