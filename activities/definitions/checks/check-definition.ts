/** Checks definitions at run time, for authors who write plain JavaScript: a misspelled `approval` must not pass. */
import { z } from 'zod';
import { UserError } from '../../lifecycle/user-error';
import type { ModelSettings } from '../../providers/settings/model-settings';
import {
  promptCaches,
  reasoningEfforts,
  serviceTiers,
} from '../../providers/settings/model-settings';
import { timer } from './check-limits';

const text = z.string({ error: 'give a string' });
const filledText = text.refine((value) => value.trim() !== '', 'give a string that is not empty');
const anything = z.unknown().optional();
const tokens = z
  .custom<number>((value) => Number.isInteger(value) && Number(value) >= 1, {
    error: ({ input }) => `${String(input)} is not a whole number of at least 1`,
  })
  .optional();

function fn(what: string): z.ZodType {
  return z.custom((value) => typeof value === 'function', `give ${what}`);
}

function oneOf(...words: readonly string[]): z.ZodType {
  return z.custom(
    (value) => words.some((word) => word === value),
    `give ${words.map((word) => `'${word}'`).join(' or ')}`,
  );
}

/** Schemas of zod 4 carry `_zod`; those of zod 3 do not. */
const zodSchema = z.custom(
  (value) => typeof value === 'object' && value !== null && '_zod' in value,
  'give a schema of zod 4, such as z.object({ … }); schemas of zod 3 and plain JSON Schema are not understood',
);

const toolShape = z.strictObject({
  name: text,
  description: text,
  input: zodSchema,
  context: zodSchema.optional(),
  effect: oneOf('read', 'keyed', 'reconcilable', 'irreversible').optional(),
  timeoutMs: anything,
  approval: oneOf('never', 'always').or(fn('a function')).optional(),
  approvals: anything,
  runsPrograms: z.boolean({ error: 'give true or false' }).optional(),
  quick: z.boolean({ error: 'give true or false' }).optional(),
  hint: text.or(fn('a function')).optional(),
  editsFile: text.optional(),
  cosmetic: z.array(text).optional(),
  maxCalls: anything,
  onUnknown: oneOf('tell-model', 'ask-person').optional(),
  label: text.optional(),
  paths: oneOf('keep', 'hide').optional(),
  // Which Temporal code is checked where it is used.
  execute: z.custom(
    (value) => typeof value === 'function' || (typeof value === 'object' && value !== null),
    'give a function, or { activity }, { workflow } or { nexusOperation, service, endpoint }',
  ),
  probe: fn('a function').optional(),
});

const reasoningShape = z.union([
  z.strictObject({ effort: z.enum(reasoningEfforts) }),
  z.strictObject({ budgetTokens: z.int().min(1_024) }),
]);
const reasoning = z.custom(
  (value) => reasoningShape.safeParse(value).success,
  `give { effort: 'high' } or another of ${reasoningEfforts.join(', ')}, or { budgetTokens } of at least 1024`,
);

/** Fields of `ModelSettings`; what a provider takes of them is checked when the worker starts. */
const settingShapes = {
  reasoning: reasoning.optional(),
  temperature: z.number({ error: 'give a number' }).min(0).max(2).optional(),
  topP: z.number({ error: 'give a number above 0, at most 1' }).gt(0).max(1).optional(),
  stopSequences: z
    .array(z.string().min(1, 'give a string that is not empty'), { error: 'give an array of strings' })
    .min(1, 'give at least one text, or leave it out')
    .optional(),
  serviceTier: oneOf(...serviceTiers).optional(),
  parallelToolCalls: z.boolean({ error: 'give true or false' }).optional(),
  promptCache: oneOf(...promptCaches).optional(),
  extraBody: z.record(z.string(), z.json(), { error: 'give an object of JSON values' }).optional(),
  extraHeaders: z.record(z.string(), z.string(), { error: 'give an object of texts' }).optional(),
} satisfies Readonly<Record<keyof ModelSettings, z.ZodType>>;

const routeShape = z.strictObject(
  {
    provider: text,
    model: filledText,
    toolProtocol: oneOf('native', 'text').optional(),
    maxOutputTokens: tokens,
    windowTokens: tokens,
    ...settingShapes,
    onRefusedRequest: oneOf('ask-next-provider', 'end-run').optional(),
    thinkingMs: timer.optional(),
    media: z
      .array(oneOf('image', 'pdf'), {
        error: "give an array of 'image' and 'pdf'; [] for text alone",
      })
      .optional(),
    prices: anything,
  },
  {
    error: ({ code }) =>
      code === 'invalid_type'
        ? "give { provider, model }, such as { provider: 'anthropic', model: 'claude-sonnet-5' }"
        : undefined,
  },
);

const madeTool = z.custom(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    ('needsApproval' in value || 'toolNamed' in value),
  'give what defineTool, defineSubagent, workspaceTools or connectMcp returned',
);

const guardrails = z
  .array(
    z.strictObject({
      name: text.regex(/^[\w.-]{1,64}$/, 'use 1 to 64 letters, digits, "_", "-" and "."'),
      timeoutMs: timer.optional(),
      check: fn('a function'),
    }),
    { error: 'give an array of { name, check }' },
  )
  .max(16, 'give at most 16')
  .optional();

/** A definition is checked where it is defined. */
const agentOrName = filledText.or(
  z.custom(
    (value) => typeof value === 'object' && value !== null && 'name' in value && 'chain' in value,
    'give what defineAgent returned',
  ),
);

const handoff = agentOrName.or(
  z.strictObject({
    agent: agentOrName,
    description: text.optional(),
    approval: oneOf('never', 'always').or(fn('a function')).optional(),
    maxCalls: anything,
  }),
);

/** A run's context is a JSON object. */
const notObjects = ['string', 'number', 'boolean', 'array', 'date', 'bigint', 'null', 'enum'];
const contextSchema = zodSchema.refine(
  (schema) => !notObjects.includes((schema as z.ZodType)._zod.def.type),
  'give the schema of an object, such as z.object({ customerId: z.string() })',
);

const agentShape = z.strictObject({
  name: text.regex(/^[\w.-]{1,100}$/, 'use 1 to 100 letters, digits, "_", "-" and "."'),
  instructions: filledText.or(fn('a function that returns one')),
  context: contextSchema.optional(),
  chain: z
    .array(routeShape, { error: 'give an array of { provider, model }' })
    .min(1, 'give at least one { provider, model }'),
  tools: z.array(madeTool, { error: 'give an array; [] for no tools' }),
  handoffs: z.array(handoff, { error: 'give an array of agents or their names' }).optional(),
  guardrails: z
    .strictObject(
      { input: guardrails, output: guardrails },
      { error: ({ code }) => (code === 'invalid_type' ? 'give { input, output }' : undefined) },
    )
    .optional(),
  completion: oneOf('text', 'tool').optional(),
  output: zodSchema.optional(),
  limits: z.record(z.string(), z.unknown(), { error: 'give an object' }).optional(),
  budget: anything,
  approvals: anything,
  questions: anything,
  programs: oneOf('ask', 'may-approve').optional(),
  patterns: oneOf('on', 'off').optional(),
  knowledge: oneOf('rules', 'model').optional(),
  compaction: anything,
  recovery: anything,
});

/** Names of what a definition takes, for one that is misspelled, or for none at all. */
function knownKeys(issue: z.core.$ZodIssue, { shape }: z.ZodObject): string {
  if (issue.path.length > 0) return '';
  return `; known are ${Object.keys(shape).join(', ')}`;
}

/** Where and what is wrong. Of alternatives, the words of each: "never" or "always", or a function. */
function problemText(issue: z.core.$ZodIssue): string {
  const where = issue.path.join('.');
  const words =
    issue.code === 'invalid_union'
      ? issue.errors.flatMap((alternative) => alternative.map(problemText)).join(', or ')
      : issue.message;
  return where === '' ? words : `${where}: ${words}`;
}

function check(what: string, shape: z.ZodObject, definition: unknown): void {
  const parsed = shape.safeParse(definition);
  if (parsed.success) return;
  const problems = parsed.error.issues.map((issue) => problemText(issue) + knownKeys(issue, shape));
  const { name } = { ...(definition as object | undefined) } as { readonly name?: unknown };
  const named = typeof name === 'string' ? `${what} "${name}"` : what;
  throw new UserError(`${named}: ${problems.join('; ')}.`);
}

/**
 * Checks fields and kinds of a tool's definition; what they may say is checked where it is used.
 *
 * Errors: `UserError` that names the tool and every field that is wrong, missing or unknown.
 */
export function checkToolShape(definition: unknown): void {
  check('Tool', toolShape, definition);
}

/**
 * Checks fields and kinds of an agent's definition.
 *
 * Errors: as `checkToolShape`.
 */
export function checkAgentShape(definition: unknown): void {
  check('Agent', agentShape, definition);
}
