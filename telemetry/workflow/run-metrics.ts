/** The metrics of runs, by the SDK's meter, which counts nothing in replays: what each step changed in the run's own account. */
import { metricMeter } from '@temporalio/workflow';
import type { RunStep } from '../../workflows/run-observer';
import { noUsage } from '../../workflows/core/budget/spend';
import type { Usage } from '../../workflows/core/budget/spend';
import type { InfraError } from '../../workflows/core/failure';
import type { RunCommand, TimelineEntry } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import { providerOf } from './run-spans';

/** Every counter, with what it counts. `docs/telemetry.md`, the dashboard and the alerts name the same ones. */
export const counters = {
  agent_runs_started: 'Runs that began',
  agent_runs_ended:
    'Runs that ended, by status; reason names the breaker or limit that ended a failed one',
  agent_iterations: 'Iterations',
  agent_tool_calls: 'Tool calls that were started',
  agent_errors_recoverable: 'Errors that the model was told of, by code',
  agent_retry_attempts: 'Errors of a tool that the model was told of, to try again, by tool',
  agent_errors_healed: 'Errors that are over, by code and by what healed them',
  agent_corrections: 'Errors that the model could correct, each counted once however often it came',
  agent_corrections_first_retry: 'Those of them that were over at the first retry, without help',
  agent_infra_errors: 'Failures that the model never sees, by code and provider',
  agent_provider_retries: 'Requests that were sent again on the same route, by provider and code',
  agent_provider_failovers: 'Moves to another route, by the provider left and the one taken',
  agent_provider_cooldowns: 'Cooldowns of a route that began in this run, by provider and reason',
  agent_compactions: 'Compactions of the conversation, by tier',
  agent_recoveries: 'Recoveries of stuck runs, by strategy and decision',
  agent_waits_started: 'Waits that began, by kind',
  agent_waits_ended: 'Waits that ended, by kind',
  agent_tokens: 'Tokens, by provider, model and type',
  agent_cost_nanousd:
    'Cost as far as prices are known, in billionths of a US dollar, by provider and model',
} as const;

type Counter = keyof typeof counters;
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

type Add = (counter: Counter, value?: number, tags?: Tags) => void;

function countEntry(entry: TimelineEntry, state: RunState, add: Add): void {
  switch (entry.type) {
    case 'ErrorEvent': {
      const { failure } = entry;
      const { code } = failure;
      if (failure.kind === 'infra') {
        add('agent_infra_errors', 1, { code, provider: providerOfRoute(failure.route) });
        return;
      }
      add('agent_errors_recoverable', 1, { code });
      const { toolName } = failure;
      if (toolName !== undefined)
        add('agent_retry_attempts', 1, { tool: toolTag(state, toolName) });
      return;
    }
    case 'HealedEvent':
      add('agent_errors_healed', 1, { code: entry.code, by: entry.by });
      return;
    case 'FailoverEvent': {
      const [provider, to] = [providerOfRoute(entry.from), providerOfRoute(entry.to)];
      add('agent_provider_failovers', 1, { provider, to, reason: reasonTag(entry.reason) });
      return;
    }
    case 'CompactionEvent':
      add('agent_compactions', 1, { tier: String(entry.tier) });
      return;
    case 'RecoveryEvent':
      add('agent_recoveries', 1, { strategy: entry.strategy, decision: entry.decision });
      return;
    case 'WaitStartedEvent':
      add('agent_waits_started', 1, { kind: entry.wait.kind });
      return;
    case 'WaitEndedEvent':
      add('agent_waits_ended', 1, { kind: entry.wait.kind });
      return;
    default:
  }
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

/** What the step added to the run's account. What a subagent consumed counts in the subagent's own run. */
function countAccount({ before, event, decided: [state] }: RunStep, add: Add): void {
  add('agent_iterations', state.counters.iterations - (before?.counters.iterations ?? 0));
  const { troubles, atFirstRetry } = state.corrections;
  add('agent_corrections', troubles - (before?.corrections.troubles ?? 0));
  add('agent_corrections_first_retry', atFirstRetry - (before?.corrections.atFirstRetry ?? 0));
  for (const [route, { cooldownUntilMs, lastErrorReason }] of Object.entries(state.health.routes))
    if (cooldownUntilMs > (before?.health.routes[route]?.cooldownUntilMs ?? 0))
      add('agent_provider_cooldowns', 1, {
        provider: providerOfRoute(route),
        reason: lastErrorReason ?? 'unknown',
      });
  if (event.type === 'subagent-ended') return;
  const model = state.snapshot?.chain[state.lastRouteIndex ?? 0]?.model ?? 'unknown';
  const tags = { provider: providerOf(state), model };
  const usage = before?.usage ?? noUsage;
  if (state.usage !== usage)
    for (const [type, key] of tokenTypes)
      add('agent_tokens', state.usage[key] - usage[key], { ...tags, type });
  const spent = before?.budget.spentNanoUsd ?? 0;
  add('agent_cost_nanousd', state.budget.spentNanoUsd - spent, tags);
}

/** Codes of failures after which the same route was asked again. */
function retriedIn({ event }: RunStep): readonly string[] {
  if (event.type === 'model-call-completed') return event.result.healedRetries ?? [];
  const none: readonly InfraError['code'][] = [];
  return event.type === 'model-call-failed' ? (event.failure.retried ?? none) : none;
}

/**
 * Makes what counts a run's steps.
 *
 * Contract: each tag has few values: codes, and names that the worker's configuration gives. A workflow task that is done again
 * after it failed counts again, as the SDK's meter does.
 */
export function createRunMetrics(): (step: RunStep) => void {
  const made = new Map<Counter, ReturnType<typeof metricMeter.createCounter>>();

  return (step) => {
    const { event, decided } = step;
    const [state, commands] = decided;
    // Whoever starts a run names an agent; only a prepared run has one that exists.
    const agent = state.snapshot === undefined ? 'unknown' : state.request.agent;
    const add: Add = (name, value = 1, tags = {}) => {
      if (value <= 0) return;
      const counter = made.get(name) ?? metricMeter.createCounter(name, '', counters[name]);
      made.set(name, counter);
      counter.add(value, { agent, ...tags });
    };
    if (event.type === 'run-started') add('agent_runs_started');
    countAccount(step, add);
    for (const code of retriedIn(step))
      add('agent_provider_retries', 1, { provider: providerOf(state), code });
    for (const command of commands) countCommand(command, state, add);
  };
}
