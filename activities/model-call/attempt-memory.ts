/** What one attempt of a model call passes to the next, in heartbeat details, so that it survives the worker. */
import { z } from 'zod';
import type { InfraError } from '../../workflows/core/failure';
import { infraPolicies } from '../../workflows/core/errors/failure-policy';
import { noSpend } from '../../workflows/core/budget/spend';

/** Characters of partial text that travel in heartbeat details. */
export const memoryTextChars = 2_000;

function isCode(value: unknown): value is InfraError['code'] {
  return typeof value === 'string' && Object.hasOwn(infraPolicies, value);
}

const amount = z.number().int().min(0);
/** What a call has consumed, as an earlier attempt left it. */
export const spendSchema = z.object({
  usage: z.object({
    inputTokens: amount,
    outputTokens: amount,
    cacheReadTokens: amount,
    cacheWriteTokens: amount,
  }),
  nanoUsd: amount.exactOptional(),
  estimated: z
    .object({ nanoUsd: amount, tokens: amount, mostNanoUsd: amount, mostTokens: amount })
    .exactOptional(),
});

const memorySchema = z.object({
  /** Codes of the provider's failures so far, oldest first. A worker's death adds none. */
  failures: z
    .array(z.unknown())
    .catch([])
    .transform((codes) => codes.filter(isCode)),
  /** Text that had arrived when the last attempt broke. */
  partialText: z.string().catch(''),
  /** What the attempts so far have consumed, without the request in flight. */
  spend: spendSchema.catch(noSpend),
  /** What the request in flight had consumed at the attempt's last heartbeat. */
  open: spendSchema.optional().catch(undefined),
  /** Requests that were sent so far, including the one in flight. */
  sent: z.number().catch(0),
  /** Attempts whose consumption is part of `spend`; the workers of all others died. */
  settledAttempts: z.number().catch(0),
  /** Attempts that ended by themselves: all others before this one lost their workers. */
  endedAttempts: z.number().catch(0),
  /** Blob of a complete reply that the worker could not accept, since it lacks a tool. Nobody pays for it twice. */
  reply: z.string().exactOptional(),
});

/** Memory of earlier attempts of one model call on one route. */
export type AttemptMemory = Readonly<z.infer<typeof memorySchema>>;

/** Of a first attempt. */
const noMemory: AttemptMemory = memorySchema.parse({});

/** Reads the heartbeat details of the attempt before; whatever is unreadable counts as nothing. */
export function readMemory(details: unknown): AttemptMemory {
  return details === undefined ? noMemory : (memorySchema.safeParse(details).data ?? noMemory);
}
