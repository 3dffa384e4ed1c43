/** One run as people read it: rows, what waits and how to end the wait, its timeline and its end. Pure. */
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import { statusRows } from '../../../workflows/core/view/rows';
import type { PendingItem } from '../../../workflows/core/view/pending';
import type { RunStatusView } from '../../../workflows/core/view/status';
import type { CommandOutput } from '../command-context';
import { endText } from './outcome-text';
import type { Color, DisplayLine } from './terminal-text';
import { printable } from './printable';
import { foldTo, painter, wrapTo } from './terminal-text';
import { createTimedLines, pendingLines, timeIndent } from './timeline-lines';

/** What is shown of a run. */
export interface ShownRun {
  readonly runId: string;
  readonly status: RunStatusView;
  readonly pending: readonly PendingItem[];
  /** Empty if the timeline is not asked for. */
  readonly entries: readonly TimelineEntry[];
  /** Of a run that has ended. */
  readonly outcome: RunOutcome | undefined;
  /** What waits has its arguments whole. */
  readonly isWhole?: boolean;
}

/** Columns of a label and the space behind it. */
const labelColumns = 11;
/** Indentation of the continuation of a command that did not fit. */
const commandIndent = 4;

const colors: { readonly [Status in RunStatusView['status']]: Color } = {
  running: 'cyan',
  waiting: 'yellow',
  completed: 'green',
  stopped: 'yellow',
  failed: 'red',
  cancelled: 'yellow',
};

/** The text of `holdfast show`: on a terminal in lines of its width, in a pipe each thing on one line. */
export function runText(
  { runId, status, pending, entries, outcome, isWhole }: ShownRun,
  output: Pick<CommandOutput, 'hasColors' | 'isTerminal' | 'columns'>,
): string {
  const paint = painter(output.hasColors);
  const columns = output.isTerminal ? output.columns() : Infinity;
  const shown = ({ text, color, gutter }: DisplayLine, indent: number): readonly string[] =>
    (gutter === undefined ? wrapTo(text, columns, indent) : foldTo(text, columns, gutter)).map(
      (line) => (color === undefined ? line : paint(color, line)),
    );
  const row = (label: string, value: string, color?: Color): readonly string[] => {
    const name = label.toLowerCase().padEnd(labelColumns);
    const [first = '', ...more] = wrapTo(`${name}${printable(value)}`, columns, labelColumns);
    const rest = first.slice(labelColumns);
    return [paint('dim', name) + (color === undefined ? rest : paint(color, rest)), ...more];
  };
  const timeline = createTimedLines()(
    outcome === undefined ? entries : entries.filter(({ type }) => type !== 'RunEndedEvent'),
  );
  // What it waits for, or how it ended, is shown below in full.
  const isAsked = status.status === 'waiting' && pending.length > 0;
  const shownBelow = [
    ...(isAsked ? ['Doing'] : []),
    ...(outcome === undefined ? [] : ['Answer', 'Message']),
  ];
  const rows = statusRows(status).filter(([label]) => !shownBelow.includes(label));
  return [
    ...row('run', runId),
    ...row('status', status.status, colors[status.status]),
    ...row('agent', status.agent),
    ...row('goal', status.goal),
    ...rows.flatMap(([label, value]) => row(label, value)),
    ...section(
      pending
        .flatMap((item) => pendingLines(runId, item, Date.now(), isWhole))
        .flatMap((line) => shown(line, commandIndent)),
    ),
    ...section(timeline.flatMap((line) => shown(line, timeIndent))),
    ...section(outcome === undefined ? [] : endText(outcome, paint)),
  ].join('\n');
}

/** Lines with an empty one before them, if there are any. */
function section(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', ...lines];
}
