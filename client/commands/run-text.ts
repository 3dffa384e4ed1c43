/** One run as people read it: rows, what waits and how to end the wait, and its story. Pure. */
import type { TimelineEntry } from '../../workflows/core/run-protocol';
import { statusRows } from '../../workflows/core/status-rows';
import type { PendingItem, RunStatusView } from '../../workflows/core/status-view';
import type { CommandOutput } from './command-context';
import type { Colour } from './terminal-text';
import { duration, painter, printable } from './terminal-text';
import type { StoryLine } from './timeline-lines';
import { pendingLine, storyLine } from './timeline-lines';

/** What there is to show of a run. */
export interface ShownRun {
  readonly runId: string;
  readonly status: RunStatusView;
  readonly pending: readonly PendingItem[];
  /** Empty where the story is not asked for. */
  readonly entries: readonly TimelineEntry[];
}

/** Columns of the labels. */
const labelColumns = 10;

const colours: { readonly [Status in RunStatusView['status']]: Colour } = {
  running: 'cyan',
  waiting: 'yellow',
  completed: 'green',
  stopped: 'yellow',
  failed: 'red',
  cancelled: 'yellow',
};

/** The text of `holdfast show`. */
export function runText(
  { runId, status, pending, entries }: ShownRun,
  { hasColours }: Pick<CommandOutput, 'hasColours'>,
): string {
  const paint = painter(hasColours);
  const painted = ({ text, colour }: StoryLine): string =>
    colour === undefined ? text : paint(colour, text);
  const row = (label: string, value: string, colour?: Colour): string => {
    const text = printable(value);
    const name = paint('dim', label.toLowerCase().padEnd(labelColumns));
    return `${name} ${colour === undefined ? text : paint(colour, text)}`;
  };
  const startedAtMs = entries[0]?.atMs ?? 0;
  const story = entries.flatMap((entry) => {
    const said = storyLine(entry);
    if (said === undefined) return [];
    return [`${duration(entry.atMs - startedAtMs).padStart(5)}  ${painted(said)}`];
  });
  return [
    row('run', runId),
    row('status', status.status, colours[status.status]),
    row('agent', status.agent),
    row('goal', status.goal),
    ...statusRows(status).map(([label, value]) => row(label, value)),
    ...pending.map((item) => painted(pendingLine(runId, item))),
    ...(story.length === 0 ? [] : ['', ...story]),
  ].join('\n');
}
