/** The status of a run, as the query `status` answers it. */
import { costOf } from '../budget/budget';
import type { RunCost, Usage } from '../budget/spend';
import { cachedShareOf } from '../budget/spend';
import { contextBounds } from '../context/size';
import { routeName } from '../failover/provider-health';
import { defined } from '../json';
import type { DecisionMade } from '../people/state';
import { decisionText } from '../people/state';
import type { ProgressEstimate } from '../recovery/action';
import { handedTo } from '../run/ports';
import type { RunState } from '../run/state';
import { goalForPeople } from '../secrets/shown-text';
import type { ToolCallProgress } from '../tools/state';
import { callSummary } from '../tools/state';
import { pendingItems } from './pending';
import type { RecoveryView } from './recovery-view';
import { recoveryFields, recoveryReason, recoveryWork } from './recovery-view';
import { shortened } from '../shortened';

/** The status in one word, as search attribute `HoldfastStatus`. */
export type RunStatusWord =
  'running' | 'waiting' | 'completed' | 'stopped' | 'failed' | 'cancelled';

/** Answer of the query `status`. */
export interface RunStatusView {
  readonly status: RunStatusWord;
  readonly agent: string;
  /** The agent that the run was handed to. */
  readonly actingAgent?: string;
  readonly goal: string;
  /** When the run started, over all its segments; absent from workers of an earlier version. */
  readonly startedAtMs?: number;
  readonly iteration: number;
  readonly maxIterations?: number;
  /** `provider/model` that answers now. */
  readonly route?: string;
  readonly isFallback: boolean;
  /** What it does now, in a few words. */
  readonly doing: string;
  /** Why it waits or how it ended. */
  readonly reason?: string;
  /** The answer of a completed run, or why a failed one failed. */
  readonly ending?: string;
  /** For whoever operates the agent, such as a server's setting to change. */
  readonly advice?: readonly string[];
  readonly lastError?: string;
  readonly toolCallsSucceeded: number;
  readonly toolCallsFailed: number;
  readonly failovers: number;
  readonly healed: { readonly [code: string]: number };
  readonly usage: Usage;
  /** Share of the input tokens that came from the vendors' prompt caches; absent if nothing was sent. */
  readonly cachedShare?: number;
  /** What it has cost so far, and of which budget. */
  readonly cost: RunCost;
  /** Size of the conversation; absent before the first reply. */
  readonly context?: ContextView;
  readonly segments: number;
  readonly ring: readonly string[];
  /** Progress; absent for a run that does not recover. */
  readonly progress?: ProgressEstimate;
  /** What recovery did; absent if it had nothing to do. */
  readonly recovery?: RecoveryView;
  readonly head?: string;
  readonly storeId?: string;
  /** The last decisions of people, oldest first. */
  readonly decisions?: readonly DecisionView[];
}

/** Size of the conversation against its window. */
export interface ContextView {
  /** Input tokens of the last request, as the vendor counted. */
  readonly tokens: number;
  readonly windowTokens: number;
  /** Compactions so far. */
  readonly compactions: number;
}

/** A decision that took effect, as people read it. */
interface DecisionView extends Pick<DecisionMade, 'id' | 'digest' | 'atMs'> {
  /** `approved by Ada`. */
  readonly what: string;
}

/** Decisions that the status shows: more than a person may have to look back at (ADR 0022). */
const shownDecisions = 8;

function decisionViews(state: RunState): readonly DecisionView[] {
  return state.approvals.made.slice(-shownDecisions).map((made) => {
    const { decision, by, ...shown } = made;
    return { ...shown, what: decisionText(made) };
  });
}

function isAtWork({ status }: ToolCallProgress): boolean {
  return status.type === 'running' || status.type === 'delegated';
}

function statusWord(state: RunState): RunStatusWord {
  const { phase } = state;
  if (phase.type === 'ended') return phase.outcome.status;
  if (phase.type === 'waiting') return 'waiting';
  if (phase.type === 'recovering') return phase.stage.type === 'planning' ? 'running' : 'waiting';
  if (phase.type === 'running-tools' && !phase.calls.some(isAtWork)) return 'waiting';
  return 'running';
}

function toolWork(calls: readonly ToolCallProgress[]): string {
  const words = calls.flatMap(({ call, status }) => {
    const what = callSummary(call);
    if (status.type === 'settled') return [];
    if (status.type === 'running' || status.type === 'ready') return [what];
    if (status.type === 'delegated') return [`${what} (run ${status.runId})`];
    if (status.type === 'awaiting-approval' || status.type === 'checking-edit')
      return [`approval of ${what}`];
    if (status.type === 'awaiting-answer') return [`an answer: ${status.question}`];
    return [`the store, then ${what}`];
  });
  return words.join(', ');
}

/** Time of day in UTC, to the second. */
function clockTime(atMs: number): string {
  const seconds = Math.floor(atMs / 1_000);
  const parts = [Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
  return `${parts.map((part) => String(part).padStart(2, '0')).join(':')} UTC`;
}

function doing(state: RunState): string {
  const { phase } = state;
  switch (phase.type) {
    case 'preparing':
      return 'preparing the run';
    case 'handing-over':
      return `handing over to ${state.handoff?.to ?? 'another agent'}`;
    case 'checking-guardrails':
      return phase.stage === 'input' ? 'checking the input' : 'checking the answer';
    case 'ready':
      return 'about to begin an iteration';
    case 'calling-model':
      return `waiting for ${currentRoute(state) ?? 'the model'}`;
    case 'compacting':
      return `compacting the conversation (tier ${phase.tier}): ${phase.why}`;
    case 'running-tools':
      return statusWord(state) === 'waiting'
        ? `waiting for ${toolWork(phase.calls)}`
        : `running ${toolWork(phase.calls)}`;
    case 'waiting':
      return phase.untilMs === undefined
        ? `waiting for ${phase.on}: ${phase.reason}`
        : `waiting for ${phase.on}, next try at ${clockTime(phase.untilMs)}: ${phase.reason}`;
    case 'recovering':
      return recoveryWork(phase.stage);
    case 'ending':
      return `ending: ${phase.reason}`;
    case 'ended':
      return phase.outcome.status;
  }
}

function routeIndex({ phase }: RunState): number | undefined {
  return phase.type === 'calling-model' ? phase.routeIndex : undefined;
}

function currentRoute(state: RunState): string | undefined {
  const index = routeIndex(state) ?? state.lastRouteIndex;
  const route = index === undefined ? undefined : state.snapshot?.chain[index];
  return route === undefined ? undefined : routeName(route);
}

function reason(state: RunState): string | undefined {
  const { phase } = state;
  if (phase.type === 'waiting') return `${phase.on}: ${phase.reason}`;
  if (phase.type === 'recovering') return recoveryReason(phase.stage);
  if (phase.type === 'running-tools' && statusWord(state) === 'waiting') {
    const [item] = pendingItems(state);
    return item === undefined ? 'store' : item.type;
  }
  if (phase.type !== 'ended') return undefined;
  const { outcome } = phase;
  return outcome.status === 'completed' ? undefined : outcome.reason;
}

/** The size of a run's conversation; undefined before the first reply. */
function contextView(state: RunState): ContextView | undefined {
  const route = state.snapshot?.chain[state.lastRouteIndex ?? 0];
  if (route === undefined || state.contextTokens <= 0) return undefined;
  const { windowTokens } = contextBounds(state, route);
  return { tokens: state.contextTokens, windowTokens, compactions: state.context.compactions };
}

/** Characters of an answer or a message that the status shows. */
const endingChars = 500;

function endingFields({ phase }: RunState): { readonly ending?: string } {
  if (phase.type !== 'ended') return {};
  const { outcome } = phase;
  if (outcome.status === 'completed') return { ending: shortened(outcome.answer, endingChars) };
  return outcome.status === 'failed' ? { ending: shortened(outcome.message, endingChars) } : {};
}

/** Builds the answer of the query `status`. */
export function statusView(state: RunState): RunStatusView {
  const { counters, snapshot } = state;
  return {
    status: statusWord(state),
    agent: state.request.agent,
    goal: goalForPeople(state, 500),
    startedAtMs: state.startedAtMs,
    iteration: counters.iterations,
    isFallback: (routeIndex(state) ?? state.lastRouteIndex ?? 0) > 0,
    doing: doing(state),
    ...endingFields(state),
    toolCallsSucceeded: counters.toolCallsSucceeded,
    toolCallsFailed: counters.toolCallsFailed,
    failovers: counters.failovers,
    healed: state.healed,
    usage: state.usage,
    cost: costOf(state),
    segments: counters.segments,
    ring: state.breaker.ring,
    ...recoveryFields(state),
    ...defined({
      actingAgent: handedTo(state),
      maxIterations: snapshot?.limits.maxIterations,
      route: currentRoute(state),
      reason: reason(state),
      advice: state.advice,
      lastError: state.lastError,
      cachedShare: cachedShareOf(state.usage),
      context: contextView(state),
      head: state.head,
      storeId: snapshot?.storeId,
      decisions: state.approvals.made.length === 0 ? undefined : decisionViews(state),
    }),
  };
}
