/** One line per entry of a run's timeline, and what a person can do about what waits. */
import { proposalText } from '../../../workflows/core/recovery/text';
import { decisionText } from '../../../workflows/core/secrets/visible-text';
import { defined } from '../../../workflows/core/json';
import { shellWord } from '../../../workflows/core/view/shell-word';
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import type { PendingItem } from '../../../workflows/core/view/pending';
import type { EntryTone } from '../../../workflows/core/view/timeline-text';
import { timelineText } from '../../../workflows/core/view/timeline-text';
import type { ExpiryAction } from '../../../workflows/core/tools/ports';
import type { RecoveryExpiry } from '../../../workflows/core/recovery/action';
import type { Color, DisplayLine } from './terminal-text';
import { argumentLines, barredLine } from './argument-lines';
import { printable } from './printable';
import { duration } from './terminal-text';

/** A line, its indentation kept. */
const line = (text: string, color?: Color): DisplayLine => ({
  text: (/^ +/.exec(text)?.[0] ?? '') + printable(text),
  ...defined({ color }),
});

const colors: Readonly<Record<EntryTone, Color>> = {
  heading: 'bold',
  began: 'cyan',
  failed: 'red',
  warned: 'yellow',
  healed: 'green',
  quiet: 'dim',
};

/** Undefined for an entry that another line says already. */
export function timelineLine(entry: TimelineEntry): DisplayLine | undefined {
  const said = timelineText(entry);
  if (said === undefined) return undefined;
  return line(said.text, said.tone === undefined ? undefined : colors[said.tone]);
}

/** Columns of the time and the space behind it. */
export const timeIndent = 7;

/** Makes the formatter of one run's timeline. It takes the entries in order, in one piece or several. */
export function createTimedLines(): (entries: readonly TimelineEntry[]) => readonly DisplayLine[] {
  let startedAtMs: number | undefined;
  let lastError: string | undefined;
  let lastIteration: string | undefined;
  return (entries) =>
    entries.flatMap((entry) => {
      startedAtMs ??= entry.atMs;
      // An error of a tool or reply has had its own line.
      const isShown = entry.type === 'ErrorEvent' && entry.failure.message === lastError;
      if ('error' in entry) lastError = entry.error.message;
      const line = isShown ? undefined : timelineLine(entry);
      if (line === undefined) return [];
      if (entry.type === 'IterationStartedEvent') {
        // A compaction happens between the start of an iteration and its call, which then starts once more.
        if (line.text === lastIteration) return [];
        lastIteration = line.text;
      }
      const time = duration(entry.atMs - startedAtMs).padStart(timeIndent - 2);
      return [{ ...line, text: `${time}  ${line.text}` }];
    });
}

const ends: { readonly [Action in ExpiryAction | RecoveryExpiry]: string } = {
  reject: 'then it is rejected',
  escalate: 'then it is escalated',
  wait: 'then people are reminded',
  'give-up': 'then the run gives up',
  continue: 'then the run continues without it',
};

/** How long an item still waits, in words; empty if it has no limit. */
function limitText({ expiresAtMs, onExpiry, escalated }: PendingItem, nowMs: number): string {
  if (escalated === true) return ' (escalated: nobody decided in time)';
  if (expiresAtMs === undefined) return '';
  const then = onExpiry === undefined ? '' : `, ${ends[onExpiry]}`;
  return ` (${duration(expiresAtMs - nowMs)} left${then})`;
}

/** What is asked for, in words. */
function wish(item: Extract<PendingItem, { type: 'approval' }>): string {
  const privileged =
    item.privileged === undefined ? '' : ` (privileged: ${item.privileged.join(', ')})`;
  const checking = item.checkingEdit === true ? ' (a decision is being checked)' : '';
  return `wants approval of ${item.tool}${privileged}${checking}`;
}

/** What waits and how long, then the commands that end the wait, each on a line of its own. */
export function pendingLines(
  givenId: string,
  item: PendingItem,
  nowMs = Date.now(),
  isWhole = false,
): readonly DisplayLine[] {
  const runId = shellWord(givenId);
  const limit = limitText(item, nowMs);
  if (item.type === 'question') {
    const asked = item.question.trim().split(/(?:\r\n|[\r\n])+/);
    return [
      // What was planned is in the question.
      line(`asks${limit}:`, 'yellow'),
      ...asked.map((part) => barredLine(decisionText(part.trim()))),
      line(`  holdfast answer ${runId} TEXT`),
    ];
  }
  const { proposal, shown } = item;
  const id = shellWord(item.approvalId);
  return [
    line(`${decisionText(wish(item))}${limit}`, 'yellow'),
    ...argumentLines(shown, isWhole),
    ...(shown.isPart === true ? [line(`  whole: holdfast show ${runId} --arguments ${id}`)] : []),
    ...(proposal === undefined
      ? []
      : [line('  proposed:', 'yellow'), barredLine(decisionText(proposalText(proposal)))]),
    line(`  yes: ${item.ifApproved}`),
    line(`  no: ${item.ifRejected}`),
    line(`  holdfast approve ${runId} ${id}`),
    line(`  holdfast reject ${runId} ${id} --reason TEXT`),
  ];
}

/** Identifies a pending item, to distinguish new ones from those that were shown. */
export function pendingKey(item: PendingItem): string {
  return item.type === 'approval' ? item.approvalId : `${item.questionId}:${item.question}`;
}
