/** The metrics of runs: what each step changed in the run's own account. */
import type { RunStep } from '../../workflows/run-observer';
import { noUsage } from '../../workflows/core/budget/spend';
import type { Usage } from '../../workflows/core/budget/spend';
import type { InfraError } from '../../workflows/core/failure';
import type { RunCommand, TimelineEntry } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import type { CounterName } from './counters';
import { providerOf } from './run-spans';
import type { CountRecord } from './step-report';

type Tags = Readonly<Record<string, string>>;

/** Tokens by class, as `type` names them. */
const tokenTypes = [
  ['input', 'inputTokens'],
  ['output', 'outputTokens'],
  ['cache_read', 'cacheReadTokens'],
  ['cache_write', 'cacheWriteTokens'],
] as const satisfies readonly (readonly [string, keyof Usage])[];

function providerOfRoute(route: string | undefined): string {
  return route?.split('/')[0] ?? 'none';
}

/** A name that a model wrote is no tag: it may be anything. */
function toolTag({ snapshot }: RunState, name: string): string {
  return snapshot?.tools.some((tool) => tool.name === name) === true ? name : 'unknown';
}

type Add = (counter: CounterName, value?: number, tags?: Tags) => void;

type EntryOf<Type extends TimelineEntry['type']> = Extract<TimelineEntry, { type: Type }>;

function countError({ failure }: EntryOf<'ErrorEvent'>, state: RunState, add: Add): void {
  const { code } = failure;
  if (failure.kind === 'infra') {
    add('agent_infra_errors', 1, { code, provider: providerOfRoute(failure.route) });
    return;
  }
  add('agent_errors_recoverable', 1, { code });
  const { toolName } = failure;
  if (toolName !== undefined) add('agent_retry_attempts', 1, { tool: toolTag(state, toolName) });
}

/** What each entry of the timeline counts; most count nothing. */
const entryCounts: {
  readonly [Type in TimelineEntry['type']]?: (
    entry: EntryOf<Type>,
    state: RunState,
    add: Add,
  ) => void;
} = {
  ErrorEvent: countError,
  HealedEvent: ({ code, by }, _state, add) => {
    add('agent_errors_healed', 1, { code, by });
  },
  FailoverEvent: ({ from, to, reason }, _state, add) => {
    add('agent_provider_failovers', 1, {
      provider: providerOfRoute(from),
      to: providerOfRoute(to),
      reason: reasonTag(reason),
    });
  },
  CompactionEvent: ({ tier }, _state, add) => {
    add('agent_compactions', 1, { tier: String(tier) });
  },
  RecoveryEvent: ({ strategy, decision }, _state, add) => {
    add('agent_recoveries', 1, { strategy, decision });
  },
  WaitStartedEvent: ({ wait: { kind } }, _state, add) => {
    add('agent_waits_started', 1, { kind });
  },
  WaitEndedEvent: ({ wait: { kind } }, _state, add) => {
    add('agent_waits_ended', 1, { kind });
  },
};

function countEntry<Type extends TimelineEntry['type']>(
  entry: EntryOf<Type>,
  state: RunState,
  add: Add,
): void {
  const type: Type = entry.type;
  entryCounts[type]?.(entry, state, add);
}

/** Reasons are codes; the context gate gives sentences, which are no tags. */
function reasonTag(reason: string): string {
  return /^\w+$/.test(reason) ? reason : 'context_overflow';
}

function countCommand(command: RunCommand, state: RunState, add: Add): void {
  if (command.type === 'publish') countEntry(command.entry, state, add);
  if (command.type === 'run-tool')
    add('agent_tool_calls', 1, { tool: toolTag(state, command.input.name) });
  if (command.type === 'end-run') {
    const { outcome } = command;
    const reason = outcome.status === 'failed' ? outcome.reason : 'none';
    add('agent_runs_ended', 1, { status: outcome.status, reason });
  }
}

function countCooldowns({ before, decided: [{ health }] }: RunStep, add: Add): void {
  if (health === before?.health) return;
  for (const [route, { cooldownUntilMs, lastErrorReason }] of Object.entries(health.routes))
    if (cooldownUntilMs > (before?.health.routes[route]?.cooldownUntilMs ?? 0))
      add('agent_provider_cooldowns', 1, {
        provider: providerOfRoute(route),
        reason: lastErrorReason ?? 'unknown',
      });
}

/** What the step added to the run's account. Most steps leave most of it as it was. */
function countAccount({ before, event, decided: [state] }: RunStep, add: Add): void {
  const { counters, corrections } = state;
  if (counters !== before?.counters)
    add('agent_iterations', counters.iterations - (before?.counters.iterations ?? 0));
  if (corrections !== before?.corrections) {
    const { troubles, atFirstRetry } = before?.corrections ?? { troubles: 0, atFirstRetry: 0 };
    add('agent_corrections', corrections.troubles - troubles);
    add('agent_corrections_first_retry', corrections.atFirstRetry - atFirstRetry);
  }
  // What a subagent consumed counts in the subagent's own run.
  if (event.type !== 'subagent-ended') countSpend(before, state, add);
}

function modelOf({ snapshot, lastRouteIndex = 0 }: RunState): string {
  return snapshot?.chain[lastRouteIndex]?.model ?? 'unknown';
}

function countSpend(before: RunState | undefined, state: RunState, add: Add): void {
  const { usage, budget } = state;
  if (usage === before?.usage && budget === before.budget) return;
  const tags = { provider: providerOf(state), model: modelOf(state) };
  const usageBefore = before?.usage ?? noUsage;
  for (const [type, key] of tokenTypes) {
    const tokens = usage[key] - usageBefore[key];
    if (tokens > 0) add('agent_tokens', tokens, { ...tags, type });
  }
  add('agent_cost_nanousd', budget.spentNanoUsd - (before?.budget.spentNanoUsd ?? 0), tags);
}

/** Codes of failures after which the same route was asked again. */
function retriedIn({ event }: RunStep): readonly string[] {
  if (event.type === 'model-call-completed') return event.result.healedRetries ?? [];
  const none: readonly InfraError['code'][] = [];
  return event.type === 'model-call-failed' ? (event.failure.retried ?? none) : none;
}

/** What a step counts. Contract: each tag has few values: codes, and names that the worker's configuration gives. */
export function countsOf(step: RunStep): readonly CountRecord[] {
  const { event, decided } = step;
  const [state, commands] = decided;
  const counts: CountRecord[] = [];
  // Whoever starts a run names an agent; only a prepared run has one that exists.
  const agent = state.snapshot === undefined ? 'unknown' : state.request.agent;
  const add: Add = (name, value = 1, tags = {}) => {
    if (value > 0) counts.push({ name, value, tags: { agent, ...tags } });
  };
  if (event.type === 'run-started') add('agent_runs_started');
  countAccount(step, add);
  countCooldowns(step, add);
  for (const code of retriedIn(step))
    add('agent_provider_retries', 1, { provider: providerOf(state), code });
  for (const command of commands) countCommand(command, state, add);
  return counts;
}
