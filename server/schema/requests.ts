/** What callers send. The client checks the rest of it: lengths, limits, budgets, content. */
import { z } from 'zod';

const by = z
  .string()
  .max(200)
  .exactOptional()
  .describe('The person who acts, for the record; the name of the token is added to it');

const media = {
  data: z.string().describe('Base64'),
  mediaType: z.string().exactOptional(),
  name: z.string().exactOptional(),
};

/** What a person says. */
const content = z
  .union(
    [
      z.string(),
      z.array(
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('text'), text: z.string() }),
          z.strictObject({ type: z.literal('image'), ...media }),
          z.strictObject({ type: z.literal('file'), ...media }),
        ]),
      ),
    ],
    {
      error:
        'give a string, or a list of { type: "text", text }, { type: "image", data } and { type: "file", data }',
    },
  )
  .meta({ id: 'Content', description: 'A text, or a list of texts, images, and files' });

const object = z.record(z.string(), z.unknown());

const runOptions = {
  limits: z
    .record(z.string(), z.union([z.number(), z.record(z.string(), z.number())]))
    .exactOptional(),
  budget: z
    .strictObject({ usd: z.number().exactOptional(), tokens: z.number().exactOptional() })
    .exactOptional(),
  context: object.exactOptional().describe('Data for tools, which the model does not see'),
  repeatEffects: z.array(z.string()).exactOptional(),
  workspace: z
    .string()
    .exactOptional()
    .describe("Directory on the workers' machine; only for tokens of all tenants"),
  taskQueue: z.string().exactOptional().describe('Only for tokens of all tenants'),
  tenant: z.string().exactOptional().describe('Only for tokens of all tenants; others have one'),
};

export const startBody = z
  .strictObject({
    agent: z.string(),
    goal: content,
    ...runOptions,
    continueFrom: z
      .string()
      .exactOptional()
      .describe('A run that has ended, whose transcript goes on'),
  })
  .meta({ id: 'StartRun' });

export const forkBody = z
  .strictObject({
    iteration: z.int().min(0),
    goal: content.exactOptional(),
    message: content.exactOptional(),
    ...runOptions,
  })
  .meta({ id: 'ForkRun' });

export type RunOptions = Pick<z.infer<typeof startBody>, keyof typeof runOptions>;

/** A key of the caller's own, so that a start that is sent again starts nothing again. */
export const startHeaders = z.looseObject({
  'idempotency-key': z.string().min(1).max(255).optional(),
});

const digest = z
  .string()
  .describe('Of the approval as it was shown: what is decided is exactly that');

export const approveBody = z.strictObject({ digest, by });
export const editBody = z.strictObject({
  digest,
  input: object.describe("All the arguments to run with instead of the model's"),
  by,
});
export const rejectBody = z.strictObject({ digest, reason: z.string(), by });
export const answerBody = z.strictObject({ answer: content, by });
export const messageBody = z.strictObject({ message: content, by });
export const reasonBody = z.strictObject({ reason: z.string(), by });

const wholeNumber = (least: number, most: number): z.ZodCoercedNumber =>
  z.coerce.number().int().min(least).max(most);
const limitOf = (usual: number, most: number): z.ZodDefault<z.ZodOptional<z.ZodCoercedNumber>> =>
  wholeNumber(1, most).optional().default(usual);

export const runParams = z.strictObject({ runId: z.string() });
export const approvalParams = z.strictObject({ runId: z.string(), approvalId: z.string() });
export const questionParams = z.strictObject({ runId: z.string(), questionId: z.string() });

const cursor = z.string().optional().describe('`next` of the page before');
const tenant = z.string().optional().describe('Only for tokens of all tenants');

export const entryId = z.string().regex(/^\d{1,9}\.\d{1,9}\.\d{1,9}$/);

export const listQuery = z.strictObject({
  status: z.enum(['running', 'waiting', 'completed', 'stopped', 'failed', 'cancelled']).optional(),
  agent: z.string().max(100).optional(),
  scheduleId: z.string().max(200).optional(),
  tenant,
  limit: limitOf(50, 1_000),
  cursor,
});
export const inboxQuery = z.strictObject({ tenant, limit: limitOf(20, 100), cursor });
export const resultQuery = z.strictObject({
  waitMs: wholeNumber(0, 60_000)
    .optional()
    .default(0)
    .describe('Milliseconds to wait for the end of the run'),
});
export const timelineQuery = z.strictObject({
  after: entryId.optional().describe('Id of the last entry that is known'),
  limit: limitOf(500, 1_000),
});
export const eventsQuery = z.strictObject({
  after: entryId.optional().describe('As `Last-Event-ID`, which counts more'),
  text: z
    .enum(['true', 'false'])
    .optional()
    .describe("`false`: without the model's words while they arrive"),
});
export const transcriptQuery = z.strictObject({
  at: wholeNumber(0, 1_000_000_000).optional().describe('As it was after this iteration'),
  offset: wholeNumber(0, 1_000_000_000).optional().default(0),
  limit: limitOf(100, 500),
});
export const patternParams = z.strictObject({ patternId: z.string().max(200) });
export const patternsQuery = z.strictObject({ tenant });
