/** The config snapshot of a run as it is stored: everything that the activities need, so that history holds only its hash. */
import { z } from 'zod';
import type { CompactionConfig } from '../../workflows/core/context/compaction-thresholds';
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import type { Limits } from '../../workflows/core/limits';
import { defaultLimits } from '../../workflows/core/limits';
import type { Completion } from '../../workflows/core/run/ports';
import type { RouteConfig } from '../../workflows/core/failover/state';
import { checkCompaction, checkLimits } from './check-limits';
import { InfraException } from '../lifecycle/infra-exception';
import type { ToolSpec } from '../providers/provider';
import { canonicalJson } from '../stores/content-hash';

/** What was resolved at the start of a run. A later deploy changes new runs only. */
export interface RunConfig {
  readonly agent: string;
  readonly system: string;
  readonly tools: readonly ToolSpec[];
  readonly completion: Completion;
  readonly chain: readonly RouteConfig[];
  readonly limits: Limits;
  readonly compaction: CompactionConfig;
  readonly workspace?: string | undefined;
  /** Absent = `default`. */
  readonly tenant?: string | undefined;
  /** Learned patterns are used; absent = not. */
  readonly learns?: boolean | undefined;
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
  temperature: z.number().exactOptional(),
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
  chain: z.array(routeSchema),
  limits: z.record(z.string(), z.unknown()),
  compaction: z.record(z.string(), z.unknown()).optional(),
  workspace: z.string().optional(),
  tenant: z.string().optional(),
  learns: z.boolean().optional(),
});

/** JSON text of a config; equal configs give equal text. */
export function runConfigJson(config: RunConfig): string {
  return canonicalJson(config);
}

function knownLimits(stored: Readonly<Record<string, unknown>>): Limits {
  const known = Object.entries(stored).filter(([name]) => Object.hasOwn(defaultLimits, name));
  return checkLimits('The stored config', { ...defaultLimits, ...Object.fromEntries(known) });
}

function knownCompaction(stored: Readonly<Record<string, unknown>>): CompactionConfig {
  const known = Object.entries(stored).filter(([name]) => Object.hasOwn(defaultCompaction, name));
  const whole = { ...defaultCompaction, ...Object.fromEntries(known) };
  return checkCompaction('The stored config', whole);
}

/**
 * Reads a stored config.
 *
 * Errors: `store_corrupt` that names the hash.
 */
export function parseRunConfig(hash: string, json: string): RunConfig {
  const parsed = configSchema.safeParse(JSON.parse(json));
  if (parsed.success) {
    const { limits, compaction = {} } = parsed.data;
    return {
      ...parsed.data,
      limits: knownLimits(limits),
      compaction: knownCompaction(compaction),
    };
  }
  throw new InfraException({
    code: 'store_corrupt',
    message: `The definition ${hash} is not a run's config: ${parsed.error.issues[0]?.message ?? ''}`,
  });
}
