/** A run's status as labeled rows: the same words in the Web UI's details and on the command line. */
import { ringSize } from '../errors/circuit-breaker';
import { recoveryLine } from './recovery-view';
import type { ContextView, RunStatusView } from './status';
import { cachedText, costText } from '../budget/spend';

/** A label and its value. */
export type StatusRow = readonly [label: string, value: string];

type Rows = readonly (readonly [string, string | undefined])[];

function present(rows: Rows): readonly StatusRow[] {
  return rows.flatMap(([label, value]) => (value === undefined ? [] : [[label, value] as const]));
}

function unlessZero(count: number): string | undefined {
  return count === 0 ? undefined : String(count);
}

function iterationText({ iteration, maxIterations }: RunStatusView): string {
  return `${iteration}${maxIterations === undefined ? '' : ` of ${maxIterations}`}`;
}

function tokenText({ usage, cachedShare, cost }: RunStatusView): string {
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const budget = cost.budgetTokens === undefined ? '' : `; budget ${cost.budgetTokens} in all`;
  return `${input} in${cachedText(cachedShare)}, ${usage.outputTokens} out${budget}`;
}

function hasEnded({ status }: RunStatusView): boolean {
  return status !== 'running' && status !== 'waiting';
}

/** `51200 of 64000 tokens (80 %), 2 compactions`. */
function contextText({ tokens, windowTokens, compactions }: ContextView): string {
  const share = Math.round((100 * tokens) / Math.max(windowTokens, 1));
  const times = compactions === 1 ? '1 compaction' : `${compactions} compactions`;
  return `${tokens} of ${windowTokens} tokens (${share} %)${compactions === 0 ? '' : `, ${times}`}`;
}

/** Where it is and what answers. */
function workRows(view: RunStatusView): Rows {
  const { route, isFallback } = view;
  const isOver = hasEnded(view);
  return [
    ['Doing', isOver ? undefined : view.doing],
    // What it waits for is what it does.
    ['Reason', isOver ? view.reason : undefined],
    ['Acting', view.actingAgent],
    ['Iteration', iterationText(view)],
    ['Provider', route && `${route}${isFallback ? ' (fallback)' : ''}`],
    ['Tool calls', `${view.toolCallsSucceeded} succeeded, ${view.toolCallsFailed} failed`],
    ['Tokens', tokenText(view)],
    ['Cost', costText(view.cost)],
    ['Context', view.context && contextText(view.context)],
  ];
}

/** What went wrong and what became of it. */
function healthRows(view: RunStatusView): Rows {
  const { progress, recovery, decisions } = view;
  const healed = Object.entries(view.healed).map(([code, count]) => `${code} x${count}`);
  return [
    [
      'Progress',
      hasEnded(view)
        ? undefined
        : progress && `${progress.progressPercent} %: ${progress.reasoning}`,
    ],
    ['Recovery', recovery && recoveryLine(recovery)],
    ['Healed', healed.length === 0 ? undefined : healed.join(', ')],
    ['Failovers', unlessZero(view.failovers)],
    ['Error ring', view.ring.length === 0 ? undefined : `${view.ring.length} of ${ringSize}`],
    ['Last error', view.lastError],
    ['Decided', decisions?.map(({ id, what }) => `${id} ${what}`).join('; ')],
    ['Segments', view.segments > 1 ? String(view.segments) : undefined],
  ];
}

/** What there is to say, in a fixed order; what has no value has no row. */
export function statusRows(view: RunStatusView): readonly StatusRow[] {
  return present([...workRows(view), ...healthRows(view)]);
}
