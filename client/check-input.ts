/** Checks everything that callers give, before anything is sent or spent. */
import { z } from 'zod';
import type { Content } from '../workflows/core/attachments';
import type { JsonObject } from '../workflows/core/json';
import type { ClientEncryption, ClientStore } from './run-access';
import type { AgentType } from '../workflows/core/typed-agent';
import {
  contextBytes,
  defaultLimits,
  editedInputChars,
  tenantPattern,
} from '../workflows/core/limits';
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
    .string({ error: `${what} must be a text` })
    .max(maxChars, {
      error: ({ input }) =>
        `${what} has ${(input as string).length} characters; at most ${maxChars} are allowed`,
    })
    .regex(/\S/, { error: `${what} is empty` });

const wholeNumber = z
  .number({ error: 'must be a number' })
  .int({ error: 'must be a whole number' })
  .min(0, { error: 'must not be negative' });

const wholeNumbers = (fields: object): z.ZodObject =>
  z.strictObject(
    Object.fromEntries(Object.keys(fields).map((key) => [key, wholeNumber.optional()])),
  );

const { cooldownMs, ...otherLimits } = defaultLimits;
const limits = wholeNumbers(otherLimits)
  .extend({ cooldownMs: wholeNumbers(cooldownMs).optional() })
  .optional();

const budget = z
  .strictObject({
    usd: z
      .number({ error: 'must be an amount in US dollars' })
      .min(0.000_001, { error: 'must be more than 0' })
      .max(1_000_000, { error: 'must be at most 1,000,000' })
      .optional(),
    tokens: wholeNumber.min(1, { error: 'must be at least 1' }).optional(),
  })
  .optional();

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
    error: 'The context must be a JSON object: texts, numbers, booleans, null, arrays and objects',
  })
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= contextBytes, {
    error: `The context has more than ${contextBytes} bytes of JSON; give ids, and let tools read the data`,
  });

/** A store as `openStore` returns it. */
export const storeSchema = z.custom<ClientStore>(
  (value) => typeof (value as Partial<ClientStore> | null)?.putMedia === 'function',
  {
    error: ({ input }) =>
      `\`store\` is ${typeof input === 'string' ? JSON.stringify(input.replace(/\/\/[^@/\s]*@/, '//***@').slice(0, 80)) : typeof input}, which is no open store; give what \`await openStore(url)\` returns`,
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
  .string({ error: 'The thread id must be a text' })
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
  agent: bounded('The agent', 100),
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
  ifExists: z.enum(['fail', 'use'], { error: "ifExists must be 'fail' or 'use'" }).optional(),
};

/** Options that only the runtime sets. */
const ofRuntime = ['contextOf', 'actingAgent', 'pendingResults', 'runtimeResults', 'origins'];
const startOptionNames = Object.keys(startFields).filter((name) => !ofRuntime.includes(name));

/** What starts a run. */
export const startSchema = z
  .strictObject(startFields, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `Unknown option ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}; a start takes ${startOptionNames.join(', ')}, output`
        : undefined,
  })
  .refine(
    ({ repeatEffects, origins, continueFrom }) =>
      repeatEffects === undefined || origins !== undefined || continueFrom !== undefined,
    { error: 'repeatEffects is only for a fork or a run that continues another one' },
  );

/** Why a person stops, escalates or rejects. */
export const reasonSchema = bounded('The reason', reasonChars);
/** A message or an answer of a person. */
export const personContentSchema = contentSchema('The text');
/** The id of an approval or a question. */
export const itemIdSchema = bounded('The id', 200);
/** The digest of an action. */
export const digestSchema = bounded('The digest', 200);
/** Arguments that a person wants instead of the model's. */
export const editedInputSchema = z
  .record(z.string(), z.json(), { error: 'The changed arguments must be a JSON object' })
  .refine((input) => JSON.stringify(input).length <= editedInputChars, {
    error: `The changed arguments have more than ${editedInputChars} characters of JSON`,
  });
/** Who acts. */
export const bySchema = bounded('The name of who acts', reasonChars).optional();

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
