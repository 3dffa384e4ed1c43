/** What small agents are made of. */
import { defaultCompaction } from '../../../workflows/core/context/compaction-thresholds';
import { defaultLimits } from '../../../workflows/core/limits';
import type { Limits } from '../../../workflows/core/limits';
import type { RouteConfig } from '../../../workflows/core/failover/state';
import type { RecoveryPolicy } from '../../../workflows/core/recovery/action';
import type { AgentSnapshot } from '../../../workflows/core/run/ports';
import type { ToolPolicy } from '../../../workflows/core/tools/ports';
import type { PersonAct, SmallAgent } from '../small-agent';

/** Small agents by name. */
export type SmallAgents = { readonly [name: string]: SmallAgent };

export function route(provider: string, windowTokens = 200_000): RouteConfig {
  return { provider, model: 'm', toolProtocol: 'native', maxOutputTokens: 4_096, windowTokens };
}

export function tool(name: string, more: Partial<ToolPolicy> = {}): ToolPolicy {
  return { name, effect: 'read', timeoutMs: 60_000, approval: 'never', ...more };
}

export const irreversible = tool('b', { effect: 'irreversible' });
export const delegate = tool('d', { subagent: { agent: 'helper', tools: ['a'] } });

/** Two routes, a tool that reads, and one that cannot be undone. */
export function snapshot(
  more: Partial<AgentSnapshot> = {},
  limits: Partial<Limits> = {},
): AgentSnapshot {
  return {
    agent: 'helper',
    flags: [],
    compaction: defaultCompaction,
    definition: 'definition',
    storeId: 'store',
    completion: 'text',
    chain: [route('p0'), route('p1')],
    tools: [tool('a'), irreversible],
    limits: { ...defaultLimits, ...limits },
    ...more,
  };
}

export function recovery(more: Partial<RecoveryPolicy> = {}): RecoveryPolicy {
  return {
    mode: 'auto',
    actAt: 0.8,
    askAt: 0.5,
    escalate: 'wait',
    maxPerRun: 2,
    waitMs: 60_000,
    onExpiry: 'give-up',
    ...more,
  };
}

export const notifiers = { names: ['log'], on: ['escalation', 'question', 'approval'] as const };
export const everyone: readonly PersonAct[] = [
  'approve',
  'reject',
  'edit',
  'answer',
  'say',
  'escalate',
  'stop',
  'cancel',
];

/** The first model call, then all others. */
export function first(
  one: readonly string[],
  others: readonly string[],
): (call: number) => readonly string[] {
  return (call) => (call <= 1 ? one : others);
}
