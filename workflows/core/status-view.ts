/** What people see of a run: the answer of the queries, the search attributes' values and the Web UI's current details. */
import { costOf } from './budget';
import { routeName } from './provider-health';
import type { RunCost } from './run-cost';
import { costText } from './run-cost';
import type { RunPhase, RunState, ToolCallProgress } from './run-state';
import type { Usage } from './usage';

/** One word for where a run is, as search attribute `HoldfastStatus`. */
export type RunStatusWord =
  'running' | 'waiting' | 'completed' | 'stopped' | 'failed' | 'cancelled';

/** Answer of the query `status`. */
export interface RunStatusView {
  readonly status: RunStatusWord;
  readonly agent: string;
  readonly goal: string;
  readonly iteration: number;
  readonly maxIterations?: number;
  /** `provider/model` that answers now. */
  readonly route?: string;
  readonly isFallback: boolean;
  /** What it does now, in a few words. */
  readonly doing: string;
  /** Why it waits or how it ended. */
  readonly reason?: string;
  readonly lastError?: string;
  readonly toolCallsSucceeded: number;
  readonly toolCallsFailed: number;
  readonly failovers: number;
  readonly healed: { readonly [code: string]: number };
  readonly usage: Usage;
  /** What it has cost so far, and of which budget; absent from workers of release 0.1.0. */
  readonly cost?: RunCost;
  readonly segments: number;
  readonly ring: readonly string[];
  readonly head?: string;
  readonly storeId?: string;
}

/** One thing that waits for a person: an entry of the query `pending`. */
export type PendingItem =
  | {
      readonly type: 'approval';
      readonly approvalId: string;
      readonly digest: string;
      readonly tool: string;
      readonly label?: string;
      readonly input?: unknown;
    }
  | { readonly type: 'question'; readonly questionId: string; readonly question: string };

/** Id of the question that an escalated run asks. */
export const escalationQuestionId = 'escalation';

function callItem({ call, status }: ToolCallProgress): PendingItem[] {
  switch (status.type) {
    case 'awaiting-approval':
      return [
        {
          type: 'approval',
          approvalId: call.toolCallId,
          digest: call.approvalDigest ?? '',
          tool: call.name,
          ...(call.label === undefined ? {} : { label: call.label }),
          ...(call.input === undefined ? {} : { input: call.input }),
        },
      ];
    case 'awaiting-answer':
      return [{ type: 'question', questionId: call.toolCallId, question: status.question }];
    case 'running':
    case 'paused':
    case 'settled':
      return [];
  }
}

/** Everything that waits for a person. */
export function pendingItems(state: RunState): readonly PendingItem[] {
  const { phase } = state;
  if (phase.type === 'running-tools') return phase.calls.flatMap(callItem);
  if (phase.type === 'waiting' && phase.on === 'person')
    return [{ type: 'question', questionId: escalationQuestionId, question: phase.reason }];
  return [];
}

function statusWord(state: RunState): RunStatusWord {
  const { phase } = state;
  if (phase.type === 'ended') return phase.outcome.status;
  if (phase.type === 'waiting') return 'waiting';
  if (phase.type === 'running-tools' && !phase.calls.some((call) => call.status.type === 'running'))
    return 'waiting';
  return 'running';
}

function toolWork(calls: readonly ToolCallProgress[]): string {
  const words = calls.flatMap(({ call, status }) => {
    const what = call.label === undefined ? call.name : `${call.name} ${call.label}`;
    if (status.type === 'settled') return [];
    if (status.type === 'running') return [what];
    if (status.type === 'awaiting-approval') return [`approval of ${what}`];
    if (status.type === 'awaiting-answer') return [`an answer: ${status.question}`];
    return [`the store, then ${what}`];
  });
  return words.join(', ');
}

function doing(state: RunState): string {
  const { phase } = state;
  switch (phase.type) {
    case 'preparing':
      return 'preparing the run';
    case 'ready':
      return 'about to begin an iteration';
    case 'calling-model':
      return `waiting for ${currentRoute(state) ?? 'the model'}`;
    case 'running-tools':
      return statusWord(state) === 'waiting'
        ? `waiting for ${toolWork(phase.calls)}`
        : `running ${toolWork(phase.calls)}`;
    case 'waiting':
      return `waiting for ${phase.on}: ${phase.reason}`;
    case 'ending':
      return `ending: ${phase.reason}`;
    case 'ended':
      return phase.outcome.status;
  }
}

function routeIndex(phase: RunPhase): number | undefined {
  return phase.type === 'calling-model' ? phase.routeIndex : undefined;
}

function currentRoute(state: RunState): string | undefined {
  const index = routeIndex(state.phase) ?? state.lastRouteIndex;
  const route = index === undefined ? undefined : state.snapshot?.chain[index];
  return route === undefined ? undefined : routeName(route);
}

function reason(state: RunState): string | undefined {
  const { phase } = state;
  if (phase.type === 'waiting') return `${phase.on}: ${phase.reason}`;
  if (phase.type === 'running-tools' && statusWord(state) === 'waiting') {
    const [item] = pendingItems(state);
    return item === undefined ? 'store' : item.type;
  }
  if (phase.type !== 'ended') return undefined;
  const { outcome } = phase;
  return outcome.status === 'completed' ? undefined : outcome.reason;
}

/** Builds the answer of the query `status`. */
export function statusView(state: RunState): RunStatusView {
  const route = currentRoute(state);
  const why = reason(state);
  return {
    status: statusWord(state),
    agent: state.request.agent,
    goal: state.request.goal.slice(0, 500),
    iteration: state.counters.iterations,
    ...(state.snapshot === undefined ? {} : { maxIterations: state.snapshot.limits.maxIterations }),
    ...(route === undefined ? {} : { route }),
    isFallback: (routeIndex(state.phase) ?? state.lastRouteIndex ?? 0) > 0,
    doing: doing(state),
    ...(why === undefined ? {} : { reason: why }),
    ...(state.lastError === undefined ? {} : { lastError: state.lastError }),
    toolCallsSucceeded: state.counters.toolCallsSucceeded,
    toolCallsFailed: state.counters.toolCallsFailed,
    failovers: state.counters.failovers,
    healed: state.healed,
    usage: state.usage,
    cost: costOf(state),
    segments: state.counters.segments,
    ring: state.breaker.ring,
    ...(state.head === undefined ? {} : { head: state.head }),
    ...(state.snapshot === undefined ? {} : { storeId: state.snapshot.storeId }),
  };
}

/** Longest value of one line of the Web UI's details, in characters. */
const detailChars = 500;

/** Text as one line of Markdown in which nothing of it is markup. */
export function escapeMarkdown(text: string): string {
  const line = text.slice(0, detailChars).replace(/\s+/g, ' ');
  return line.replace(/[\\`*_<>[\]|#~]/g, (character) => `\\${character}`);
}

function tokenBudget(cost: RunCost | undefined): string {
  return cost?.budgetTokens === undefined ? '' : ` of ${cost.budgetTokens} in all`;
}

/** The Web UI's current details: what a person wants to know of a run at one look, in Markdown. */
export function statusMarkdown(state: RunState): string {
  const view = statusView(state);
  const healed = Object.entries(view.healed).map(([code, count]) => `${code} x${count}`);
  const hasEnded = state.phase.type === 'ended';
  const rows: [string, string | undefined][] = [
    ['Doing', hasEnded ? undefined : view.doing],
    ['Why', hasEnded ? view.reason : undefined],
    [
      'Iteration',
      `${view.iteration}${view.maxIterations === undefined ? '' : ` of ${view.maxIterations}`}`,
    ],
    [
      'Provider',
      view.route === undefined ? undefined : `${view.route}${view.isFallback ? ' (fallback)' : ''}`,
    ],
    ['Waits for', view.status === 'waiting' ? view.reason : undefined],
    ['Last error', view.lastError],
    ['Healed', healed.length === 0 ? undefined : healed.join(', ')],
    ['Tool calls', `${view.toolCallsSucceeded} succeeded, ${view.toolCallsFailed} failed`],
    ['Failovers', view.failovers === 0 ? undefined : String(view.failovers)],
    ['Error ring', view.ring.length === 0 ? undefined : `${view.ring.length} of 5`],
    [
      'Tokens',
      `${view.usage.inputTokens + view.usage.cacheReadTokens + view.usage.cacheWriteTokens} in, ${view.usage.outputTokens} out${tokenBudget(view.cost)}`,
    ],
    ['Cost', view.cost && costText(view.cost)],
    ['Segment', view.segments > 1 ? String(view.segments) : undefined],
  ];
  const lines = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`- **${name}:** ${escapeMarkdown(value)}`],
  );
  return [`### ${view.status}`, ...lines].join('\n');
}
