/** The config snapshot of a run as it is stored: everything that the activities need, so that history holds only its hash. */
import { z } from 'zod';
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import { defaultLimits } from '../../workflows/core/limits';
import type { JsonObject } from '../../workflows/core/json';
import type { ResolvedAgent } from './agent-catalog';
import { checkCompaction, checkLimits } from './checks/check-limits';
import { InfraException } from '../lifecycle/infra-exception';
import type { ToolKnowledge } from './tool-knowledge';
import { toolKnowledgeSchema } from './tool-knowledge';
import { orderedJson } from '../stores/content-hash';

/** What was resolved at the start of a run. A later deploy changes new runs only. */
export interface RunConfig extends Pick<
  ResolvedAgent,
  'tools' | 'completion' | 'chain' | 'limits' | 'compaction'
> {
  readonly agent: string;
  /** Instructions for the model. */
  readonly system: string;
  /** JSON Schema of the answer: of completion `text` with an output schema. */
  readonly answer?: JsonObject | undefined;
  readonly workspace?: string | undefined;
  /** Absent = `default`. */
  readonly tenant?: string | undefined;
  readonly knowledge?: ToolKnowledge | undefined;
  /** What the agent's schema made of the context that the run was given. */
  readonly context?: JsonObject | undefined;
  /** What its input guardrails check; absent if it has none. */
  readonly input?: string | undefined;
  /** Of a run that was handed over: the agent that it was started with, whose completion it keeps, and what that one reads of the context. */
  readonly startedAs?: { readonly agent: string; readonly context?: JsonObject } | undefined;
}

const prices = {
  input: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  output: z.number(),
};
const priceSchema = z.object({
  ...prices,
  longPrompt: z.object({ ...prices, aboveTokens: z.number() }).exactOptional(),
});

const routeSchema = z.object({
  provider: z.string(),
  model: z.string(),
  toolProtocol: z.enum(['native', 'text']),
  maxOutputTokens: z.number(),
  windowTokens: z.number(),
  settings: z.record(z.string(), z.unknown()).exactOptional(),
  onRefusedRequest: z.literal('end-run').exactOptional(),
  thinkingMs: z.number().exactOptional(),
  media: z
    .object({ image: z.number().exactOptional(), pdf: z.number().exactOptional() })
    .exactOptional(),
  price: priceSchema.exactOptional(),
});

/** Limits and compaction are filled up with defaults before they are checked. */
const configSchema = z.object({
  agent: z.string(),
  system: z.string(),
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      inputSchema: z.record(z.string(), z.json()),
    }),
  ),
  completion: z.enum(['text', 'tool']),
  answer: z.record(z.string(), z.json()).optional(),
  chain: z.array(routeSchema),
  limits: z.record(z.string(), z.unknown()),
  compaction: z.record(z.string(), z.unknown()).optional(),
  workspace: z.string().optional(),
  tenant: z.string().optional(),
  knowledge: toolKnowledgeSchema.optional(),
  context: z.record(z.string(), z.json()).optional(),
  input: z.string().optional(),
  startedAs: z
    .object({ agent: z.string(), context: z.record(z.string(), z.json()).exactOptional() })
    .optional(),
});

/** JSON text of a config. The model gets each schema's fields in the order of their author. */
export function runConfigJson(config: RunConfig): string {
  return orderedJson(config);
}

/** The defaults with what a stored config says of them: another version may have had other fields. */
function filledUp<Defaults extends object>(
  defaults: Defaults,
  stored: Readonly<Record<string, unknown>> = {},
): Defaults {
  const known = Object.entries(stored).filter(([name]) => Object.hasOwn(defaults, name));
  return { ...defaults, ...Object.fromEntries(known) };
}

/**
 * Reads a stored config.
 *
 * Errors: `store_corrupt` that names the hash.
 */
export function parseRunConfig(hash: string, json: string): RunConfig {
  const stored = 'The stored config';
  const parsed = configSchema.safeParse(JSON.parse(json));
  if (parsed.success) {
    const { limits, compaction } = parsed.data;
    return {
      ...parsed.data,
      limits: checkLimits(stored, filledUp(defaultLimits, limits)),
      compaction: checkCompaction(stored, filledUp(defaultCompaction, compaction)),
    };
  }
  throw new InfraException({
    code: 'store_corrupt',
    message: `The definition ${hash} is not a run's config: ${parsed.error.issues[0]?.message ?? ''}`,
  });
}
