/** What people see of a run: the answer of the queries, the search attributes' values and the Web UI's current details. */
import type { ContextView } from './context-view';
import { contextView } from './context-view';
import { costOf } from '../budget/budget';
import { decisionText } from '../people/decisions-made';
import { digestOf, policyOf } from '../people/decision-wait';
import type { ExpiryAction } from '../tools/ports';
import { routeName } from '../failover/provider-health';
import type { RunCost } from '../budget/cost';
import type { ProgressEstimate, RecoveryExpiry } from '../recovery/action';
import type { RecoveryView } from './recovery-view';
import { recoveryFields, recoveryItems, recoveryReason, recoveryWork } from './recovery-view';
import type { DecisionWait, RunPhase, RunState, ToolCallProgress } from '../run/state';
import { goalForPeople } from '../people/shown-text';
import type { Usage } from '../budget/usage';
import type { StatusRow } from './rows';
import { statusRows } from './rows';
import { cachedShareOf } from '../budget/usage';

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
  /** The answer of a completed run, or what a failed one failed of, in words. */
  readonly ending?: string;
  readonly lastError?: string;
  readonly toolCallsSucceeded: number;
  readonly toolCallsFailed: number;
  readonly failovers: number;
  readonly healed: { readonly [code: string]: number };
  readonly usage: Usage;
  /** Share of the input tokens that came from the vendors' prompt caches; absent where nothing was sent. */
  readonly cachedShare?: number;
  /** What it has cost so far, and of which budget; absent from workers of release 0.1.0. */
  readonly cost?: RunCost;
  /** Size of the conversation; absent before the first reply. */
  readonly context?: ContextView;
  readonly segments: number;
  readonly ring: readonly string[];
  /** How far the run is; absent for a run that does not recover. */
  readonly progress?: ProgressEstimate;
  /** What recovery did; absent where it had nothing to do. */
  readonly recovery?: RecoveryView;
  readonly head?: string;
  readonly storeId?: string;
  /** The last decisions of people, oldest first. */
  readonly decisions?: readonly DecisionView[];
}

/** A decision that took effect, as people read it. */
interface DecisionView {
  /** Id of the approval or the question. */
  readonly id: string;
  /** Digest of the action decided on. */
  readonly digest?: string;
  /** `approved by Ada`. */
  readonly what: string;
  readonly atMs: number;
}

/** Decisions that the status shows: more than a person may have to look back at (ADR 0022). */
const shownDecisions = 8;

function decisionViews(state: RunState): readonly DecisionView[] {
  return state.approvals.made.slice(-shownDecisions).map((made) => ({
    id: made.id,
    ...(made.digest === undefined ? {} : { digest: made.digest }),
    what: decisionText(made),
    atMs: made.atMs,
  }));
}

/** One thing that waits for a person: an entry of the query `pending`. */
export type PendingItem =
  | ({
      readonly type: 'approval';
      readonly approvalId: string;
      readonly digest: string;
      readonly tool: string;
      readonly label?: string;
      readonly input?: unknown;
      /** Blob with the input, where it is too long to travel. */
      readonly inputBlob?: string;
      /** Parameters that the tool's schema marks privileged. */
      readonly privileged?: readonly string[];
      /** Changed arguments are being checked. */
      readonly checkingEdit?: true;
    } & Limited)
  | ({
      readonly type: 'question';
      readonly questionId: string;
      readonly question: string;
    } & Limited);

/** The limit of a wait, where it has one. */
interface Limited {
  /** Milliseconds since the epoch at which the wait expires. */
  readonly expiresAtMs?: number;
  /** What happens then. */
  readonly onExpiry?: ExpiryAction | RecoveryExpiry;
  /** Nobody decided in time. It can still be decided. */
  readonly escalated?: true;
}

/** Id of the question that an escalated run asks. */
export const escalationQuestionId = 'escalation';

function limitOf(state: RunState, progress: ToolCallProgress, wait: DecisionWait): Limited {
  const { expiry, escalated } = wait;
  const onExpiry = policyOf(state, progress)?.onExpiry;
  return {
    ...(expiry === undefined ? {} : { expiresAtMs: expiry.atMs }),
    ...(expiry === undefined || onExpiry === undefined ? {} : { onExpiry }),
    ...(escalated === undefined ? {} : { escalated }),
  };
}

function callItem(state: RunState, progress: ToolCallProgress): PendingItem[] {
  const { call, status } = progress;
  switch (status.type) {
    case 'awaiting-approval':
    case 'checking-edit':
      return [
        {
          type: 'approval',
          approvalId: call.toolCallId,
          digest: digestOf(call),
          tool: call.name,
          ...(call.label === undefined ? {} : { label: call.label }),
          ...(call.input === undefined ? {} : { input: call.input }),
          ...(call.inputBlob === undefined ? {} : { inputBlob: call.inputBlob }),
          ...(call.privileged === undefined
            ? {}
            : { privileged: call.privileged.parameters.map(({ name }) => name) }),
          ...(status.type === 'checking-edit' ? { checkingEdit: true } : {}),
          ...limitOf(state, progress, status),
        },
      ];
    case 'awaiting-answer':
      return [
        {
          type: 'question',
          questionId: call.toolCallId,
          question: status.question,
          ...limitOf(state, progress, status),
        },
      ];
    case 'running':
    case 'delegated':
    case 'paused':
    case 'settled':
      return [];
  }
}

/** Everything that waits for a person. */
export function pendingItems(state: RunState): readonly PendingItem[] {
  const { phase } = state;
  if (phase.type === 'running-tools') return phase.calls.flatMap((call) => callItem(state, call));
  if (phase.type === 'recovering') return recoveryItems(phase.stage, state.snapshot?.recovery);
  if (phase.type === 'waiting' && phase.on === 'person')
    return [{ type: 'question', questionId: escalationQuestionId, question: phase.reason }];
  return [];
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
    const what = call.label === undefined ? call.name : `${call.name} ${call.label}`;
    if (status.type === 'settled') return [];
    if (status.type === 'running') return [what];
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
  if (phase.type === 'recovering') return recoveryReason(phase.stage);
  if (phase.type === 'running-tools' && statusWord(state) === 'waiting') {
    const [item] = pendingItems(state);
    return item === undefined ? 'store' : item.type;
  }
  if (phase.type !== 'ended') return undefined;
  const { outcome } = phase;
  return outcome.status === 'completed' ? undefined : outcome.reason;
}

/** Characters of an answer or a message that the status shows. */
const endingChars = 500;

function endingFields({ phase }: RunState): { readonly ending?: string } {
  if (phase.type !== 'ended') return {};
  const { outcome } = phase;
  if (outcome.status === 'completed') return { ending: outcome.answer.slice(0, endingChars) };
  return outcome.status === 'failed' ? { ending: outcome.message.slice(0, endingChars) } : {};
}

function cachedFields(usage: Usage): { readonly cachedShare?: number } {
  const cachedShare = cachedShareOf(usage);
  return cachedShare === undefined ? {} : { cachedShare };
}

/** Builds the answer of the query `status`. */
export function statusView(state: RunState): RunStatusView {
  const route = currentRoute(state);
  const why = reason(state);
  const context = contextView(state);
  return {
    status: statusWord(state),
    agent: state.request.agent,
    goal: goalForPeople(state, 500),
    iteration: state.counters.iterations,
    ...(state.snapshot === undefined ? {} : { maxIterations: state.snapshot.limits.maxIterations }),
    ...(route === undefined ? {} : { route }),
    isFallback: (routeIndex(state.phase) ?? state.lastRouteIndex ?? 0) > 0,
    doing: doing(state),
    ...(why === undefined ? {} : { reason: why }),
    ...endingFields(state),
    ...(state.lastError === undefined ? {} : { lastError: state.lastError }),
    toolCallsSucceeded: state.counters.toolCallsSucceeded,
    toolCallsFailed: state.counters.toolCallsFailed,
    failovers: state.counters.failovers,
    healed: state.healed,
    usage: state.usage,
    ...cachedFields(state.usage),
    cost: costOf(state),
    ...(context === undefined ? {} : { context }),
    segments: state.counters.segments,
    ring: state.breaker.ring,
    ...recoveryFields(state),
    ...(state.head === undefined ? {} : { head: state.head }),
    ...(state.snapshot === undefined ? {} : { storeId: state.snapshot.storeId }),
    ...(state.approvals.made.length === 0 ? {} : { decisions: decisionViews(state) }),
  };
}

/** Longest value of one line of the Web UI's details, in characters. */
const detailChars = 500;

/** Characters of what a person is asked: the command that answers must stay on the line. */
const wantedChars = 350;

/** Text as one line of Markdown in which nothing of it is markup. */
export function escapeMarkdown(text: string): string {
  const line = text.slice(0, detailChars).replace(/\s+/g, ' ');
  return line.replace(/[\\`*_<>[\]|#~$]/g, (character) => `\\${character}`);
}

/** What a person is asked, and the command that answers; the page itself names the run. */
function wantedRow(item: PendingItem): StatusRow {
  if (item.type === 'question')
    return ['Asks', `${item.question.slice(0, wantedChars)} -- holdfast answer RUN TEXT`];
  const input = JSON.stringify(item.input ?? 'arguments in the store').slice(0, wantedChars);
  return [
    'Wants approval',
    `${item.tool} ${input} -- holdfast approve RUN ${item.approvalId}, or reject`,
  ];
}

/** How it ended; the command line tells it at greater length. */
function endingRow({ status, ending }: RunStatusView): readonly StatusRow[] {
  return ending === undefined ? [] : [[status === 'completed' ? 'Answer' : 'Message', ending]];
}

/** The Web UI's current details: what a person wants to know of a run at one look, in Markdown. */
export function statusMarkdown(state: RunState): string {
  const view = statusView(state);
  const rows = [...statusRows(view), ...endingRow(view), ...pendingItems(state).map(wantedRow)];
  const lines = rows.map(([name, value]) => `- **${name}:** ${escapeMarkdown(value)}`);
  return [`### ${view.status}`, ...lines].join('\n');
}
