/** Checks everything that callers give, before anything is sent or spent. */
import { inspect } from 'node:util';
import { z } from 'zod';
import type { Content } from '../workflows/core/attachments';
import type { JsonObject } from '../workflows/core/json';
import type { ClientEncryption, ClientStore } from './run-access';
import type { AgentType } from '../workflows/core/typed-agent';
import {
  contextBytes,
  cooldownRange,
  defaultLimits,
  editedInputChars,
  limitRanges,
  tenantPattern,
} from '../workflows/core/limits';
import { shortened } from '../workflows/core/shortened';
import { problemOfContent } from './start/content';
import { ClientError } from './client-error';

/** Characters of a workflow id; Temporal takes 1,000 bytes, which 250 characters never pass. */
const idChars = 250;
/** Characters of a path or name. */
const nameChars = 4_096;
/** Characters of a reason; the workflow cuts at the same length. */
const reasonChars = 1_000;

const bounded = (what: string, maxChars: number): z.ZodString =>
  z
    .string({ error: `${what} must be a string` })
    .max(maxChars, {
      error: ({ input }) =>
        `${what} has ${(input as string).length} characters; at most ${maxChars} are allowed`,
    })
    .regex(/\S/, { error: `${what} is empty` });

/** Options by name: an unknown one is refused with those that there are. */
export function optionsOf<Shape extends z.ZodRawShape>(
  what: string,
  shape: Shape,
  names: readonly string[] = Object.keys(shape),
): z.ZodObject<Shape, z.core.$strict> {
  const known = names.join(', ');
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `Unknown option ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}; ${what} takes ${known}`
        : `${what} takes an object of options: ${known}`,
  });
}

const wholeNumber = (least: number, most: number): z.ZodType => {
  const error = ({ input }: { readonly input?: unknown }): string =>
    `${shortened(inspect(input), 40)} is not a whole number from ${least} to ${most}`;
  return z.int({ error }).min(least, { error }).max(most, { error }).optional();
};

const wholeNumbers = (
  what: string,
  ranges: Readonly<Record<string, readonly [number, number]>>,
): z.ZodObject => {
  const entries = Object.entries(ranges);
  const shape = entries.map(([name, [least, most]]) => [name, wholeNumber(least, most)] as const);
  return optionsOf(what, Object.fromEntries(shape));
};

const cooldownRanges = Object.keys(defaultLimits.cooldownMs).map(
  (reason) => [reason, cooldownRange] as const,
);
const cooldowns = wholeNumbers('cooldownMs', Object.fromEntries(cooldownRanges)).optional();
const limits = optionsOf('limits', {
  ...wholeNumbers('limits', limitRanges).shape,
  cooldownMs: cooldowns,
}).optional();

const budget = optionsOf('budget', {
  usd: z
    .number({ error: 'must be an amount in US dollars' })
    .min(0.000_001, { error: 'must be more than 0' })
    .max(1_000_000, { error: 'must be at most 1,000,000' })
    .optional(),
  tokens: wholeNumber(1, Number.MAX_SAFE_INTEGER),
}).optional();

/** A run's id: it is the workflow's id. */
export const runIdSchema = bounded('The run id', idChars).regex(/^[^\s\p{C}]+$/u, {
  error: 'The run id must not hold spaces or control characters',
});

/** Characters of a schedule's id: the ids of its runs also hold a time. */
const scheduleIdChars = 200;

/** A schedule's id: the ids of its runs begin with it. */
export const scheduleIdSchema = bounded('The schedule id', scheduleIdChars).regex(
  /^[^\s\p{C}]+$/u,
  {
    error: 'The schedule id must not hold spaces or control characters',
  },
);

/** A run's context as it travels; the agent's schema decides about its fields. */
const jsonObject = z.record(z.string(), z.json());
const context = z
  .custom<JsonObject>((value) => jsonObject.safeParse(value).success, {
    error:
      'The context must be a JSON object: strings, numbers, booleans, null, arrays and objects',
  })
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= contextBytes, {
    error: `The context has more than ${contextBytes} bytes of JSON; give ids, and let tools read the data`,
  });

/** A store as `openStore` returns it. */
export const storeSchema = z.custom<ClientStore>(
  (value) => typeof (value as Partial<ClientStore> | null)?.putMedia === 'function',
  {
    error: ({ input }) =>
      `\`store\` is ${typeof input === 'string' ? JSON.stringify(input.replace(/\/\/[^@/\s]*@/, '//***@').slice(0, 80)) : typeof input}, which is not an open store; give what \`await openStore(url)\` returns`,
  },
);

/** An encryption as `createEncryption` returns it. */
export const encryptionSchema = z.custom<ClientEncryption>(
  (value) => typeof (value as Partial<ClientEncryption> | null)?.dataConverter === 'object',
  {
    error: ({ input }) =>
      `\`encryption\` is ${input === null ? 'null' : typeof input}; give what createEncryption({ keyId, keys }) returns`,
  },
);

/** A thread's id: its runs' ids are `<id>:<number>`, so that it holds no colon. */
export const threadIdSchema = z
  .string({ error: 'The thread id must be a string' })
  .regex(/^[\w.@/-]{1,200}$/, {
    error: ({ input }) =>
      `The thread id ${JSON.stringify(String(input).slice(0, 220))} must be 1 to 200 letters, digits, "_", "-", ".", "@" and "/"`,
  });

/** What a person says; the words of a problem are those of `problemOfContent`. */
function contentSchema(what: string): z.ZodType<Content> {
  return z.custom<Content>().superRefine((given, context) => {
    const problem = problemOfContent(what, given);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });
}

const startFields = {
  agent: bounded('The agent', 100).regex(/^\s*$|^[\w.-]+$/, {
    error: ({ input }) =>
      `The agent's name is ${JSON.stringify(input)}; names have letters, digits, "_", "-" and "."`,
  }),
  goal: contentSchema('The goal'),
  workspace: bounded('The workspace', nameChars).optional(),
  limits,
  budget,
  head: bounded('The head', 200).optional(),
  message: contentSchema('The message').or(z.literal('')).optional(),
  pendingResults: z.array(z.object({ toolCallId: z.string(), name: z.string() })).optional(),
  runtimeResults: z.array(z.object({ introduction: z.string() })).optional(),
  continueFrom: runIdSchema.optional(),
  context: context.optional(),
  contextOf: bounded('The context hash', 200).optional(),
  actingAgent: bounded('The acting agent', 100).optional(),
  origins: z.array(z.object({ runKey: z.string(), iteration: z.number() })).optional(),
  repeatEffects: z
    .array(bounded('A tool of repeatEffects', 100), {
      error: 'repeatEffects must be a list of tool names',
    })
    .optional(),
  storeId: bounded('The store id', 200).optional(),
  tenant: bounded('The tenant', 100)
    .regex(tenantPattern, {
      error: 'The tenant must be 1 to 100 letters, digits, "_", "-", ".", "@" and ":"',
    })
    .optional(),
  runId: runIdSchema.optional(),
  taskQueue: bounded('The task queue', 200).optional(),
  idempotencyKey: bounded('The idempotency key', 255).optional(),
  ifExists: z.enum(['fail', 'use'], { error: "ifExists must be 'fail' or 'use'" }).optional(),
  output: z
    .custom((value) => typeof (value as { safeParse?: unknown } | null)?.safeParse === 'function', {
      error: 'The output must be a schema of zod, such as z.object({ … })',
    })
    .optional(),
};

/** Options that only the runtime sets. */
const ofRuntime = ['contextOf', 'actingAgent', 'pendingResults', 'runtimeResults', 'origins'];
const startOptionNames = Object.keys(startFields).filter((name) => !ofRuntime.includes(name));

/** What starts a run. */
export const startSchema = optionsOf('a start', startFields, startOptionNames)
  .refine(
    ({ repeatEffects, origins, continueFrom }) =>
      repeatEffects === undefined || origins !== undefined || continueFrom !== undefined,
    { error: 'repeatEffects is only for a fork or a run that continues another one' },
  )
  .refine(
    ({ idempotencyKey, runId, ifExists }) =>
      idempotencyKey === undefined || (runId === undefined && ifExists === undefined),
    { error: 'An idempotencyKey decides the run id itself; leave runId and ifExists out' },
  );

const { head, storeId, continueFrom, output, ifExists, ...ofFork } = startFields;
const forkNames = Object.keys(ofFork).filter((name) => !ofRuntime.includes(name));
/** What is said of a fork: nothing of it is needed. */
export const forkSchema = optionsOf('a fork', ofFork, forkNames)
  .partial()
  .refine(({ idempotencyKey, runId }) => idempotencyKey === undefined || runId === undefined, {
    error: 'An idempotencyKey decides the run id itself; leave runId out',
  });

/** Why a person stops, escalates or rejects. */
export const reasonSchema = bounded('The reason', reasonChars);
/** A message or an answer of a person. */
export const personContentSchema = contentSchema('The text');
/** The id of an approval or a question. */
export const itemIdSchema = bounded('The id', 200);
/** The digest of an action. */
const digestSchema = bounded('The digest', 200);
/** Arguments that a person wants instead of the model's. */
export const editedInputSchema = z
  .record(z.string(), z.json(), { error: 'The changed arguments must be a JSON object' })
  .refine((input) => JSON.stringify(input).length <= editedInputChars, {
    error: `The changed arguments have more than ${editedInputChars} characters of JSON`,
  });
/** Who acts. */
const by = bounded('The name of who acts', reasonChars).optional();
export const actorSchema = optionsOf('it', { by });
/** Who decides, on which action; with `approve` there is also `input`. */
const ofDecision = { by, digest: digestSchema.optional() };
const decisionNames = ['by', 'digest', 'input (to approve other arguments)'];
export const deciderSchema = optionsOf('a decision', ofDecision, decisionNames);
export const approverSchema = optionsOf(
  'a decision',
  { ...ofDecision, input: editedInputSchema.optional() },
  decisionNames,
);

/** Returns the parsed value, or throws `invalid-input` with every problem in one message. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  remedy = '',
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    path[0] === 'limits' || path[0] === 'budget' ? `${path.join('.')}: ${message}` : message,
  );
  throw new ClientError(
    'invalid-input',
    `${problems.join('; ')}.${remedy === '' ? '' : ` ${remedy}`}`,
  );
}

/**
 * Checks a context with the schema of an agent's definition.
 *
 * Errors: `invalid-input` that names the agent and what does not fit; no value of the context is in it.
 */
export function checkContext({ name, context: schema }: AgentType, given: unknown): void {
  const where = `The context of agent "${name}"`;
  if (schema === undefined) {
    if (given === undefined) return;
    const remedy =
      'Leave `context` out, or give the agent a `context` schema. Nothing was started.';
    throw new ClientError('invalid-input', `Agent "${name}" takes no context. ${remedy}`);
  }
  // A definition's schemas are zod's.
  const { error } = (schema as z.ZodType).safeParse(given);
  if (error === undefined) return;
  const problems = error.issues.map(
    ({ path, message }) => `${['context', ...path].join('.')}: ${message}`,
  );
  throw new ClientError(
    'invalid-input',
    `${where} does not fit its schema: ${problems.join('; ')}. Nothing was started.`,
  );
}
