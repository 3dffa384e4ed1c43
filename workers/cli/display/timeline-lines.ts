/** One line per entry of a run's timeline, and what a person can do about what waits. */
import { proposalText } from '../../../workflows/core/recovery/text';
import { decisionText } from '../../../workflows/core/secrets/visible-text';
import type { Failure } from '../../../workflows/core/failure';
import { promptCutText } from '../../../workflows/core/context/size';
import { defined } from '../../../workflows/core/json';
import { nanoUsdOf, usdText } from '../../../workflows/core/budget/spend';
import { shellWord } from '../../../workflows/core/view/shell-word';
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import type { PendingItem } from '../../../workflows/core/view/pending';
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

function failureText(failure: Failure): string {
  const retried = failure.kind === 'infra' ? (failure.retried ?? []) : [];
  const earlier = retried.length === 0 ? '' : ` (after retries of ${retried.join(', ')})`;
  return `${failure.code}${earlier}: ${failure.message}`;
}

function costText(usd: number | undefined): string {
  return usd === undefined ? '' : ` (${usdText(nanoUsdOf(usd))})`;
}

type Line<Type extends TimelineEntry['type']> = (
  entry: Extract<TimelineEntry, { type: Type }>,
) => DisplayLine | undefined;

/** The line of each entry; undefined for an entry that another line says already. */
const lines: { readonly [Type in TimelineEntry['type']]: Line<Type> } = {
  ErrorEvent: ({ failure }) => line(`error ${failureText(failure)}`, 'red'),
  NoToolCallEvent: ({ error }) => line(`no tool call: ${error.message}`, 'yellow'),
  ToolResultErrorEvent: ({ error }) =>
    line(`${error.toolName ?? 'tool'} failed: ${failureText(error)}`, 'yellow'),
  RunStartedEvent: ({ agent, goal }) => line(`run of ${agent}: ${goal}`, 'bold'),
  IterationStartedEvent: ({ iteration, route, isFallback, note }) => {
    const advice = note === undefined ? '' : ', with advice on the last error';
    const fallback = isFallback ? ' (fallback)' : '';
    return line(`iteration ${iteration} on ${route}${fallback}${advice}`, 'cyan');
  },
  ModelRepliedEvent: ({ text, usd }) =>
    text === '' ? undefined : line(`model${costText(usd)}: ${text}`),
  ToolCallStartedEvent: ({ summary }) => line(`run ${summary}`),
  ToolCallSucceededEvent: ({ summary, preview }) =>
    line(`done ${summary}${preview === '' ? '' : `: ${preview}`}`, 'dim'),
  SubagentStartedEvent: ({ agent, runId, task }) =>
    line(`subagent ${agent} (run ${runId}): ${task}`, 'cyan'),
  SubagentEndedEvent: ({ status, runId, usd, message }) =>
    line(
      `subagent ${status} (run ${runId})${costText(usd)}: ${message}`,
      status === 'completed' ? 'dim' : 'yellow',
    ),
  HandoffEvent: ({ from, to, reason }) =>
    line(`${from} hands over to ${to}${reason === '' ? '' : `: ${reason}`}`, 'cyan'),
  GuardrailEvent: ({ name, stage, verdict, message = '' }) =>
    line(
      `${stage} guardrail ${name} ${verdict}${message === '' ? '' : `: ${message}`}`,
      verdict === 'passed' ? 'dim' : 'yellow',
    ),
  HealedEvent: ({ code, how }) => line(`healed ${code}: ${how}`, 'green'),
  FailoverEvent: ({ from, to, reason }) =>
    line(`failover from ${from} to ${to}: ${reason}`, 'yellow'),
  ContextWarningEvent: ({ tokens, windowTokens }) =>
    line(`the conversation nears its window: ${tokens} of ${windowTokens} tokens`, 'yellow'),
  PromptCutEvent: ({ route, countedTokens, measuredTokens }) =>
    line(promptCutText(route, countedTokens, measuredTokens), 'yellow'),
  MediaLeftOutEvent: ({ route, media }) =>
    line(`${route} did not get: ${media.join('; ')}`, 'yellow'),
  CompactionEvent: ({ tier, tokensBefore, tokensAfter, why }) =>
    line(
      `compacted (tier ${tier}) from ${tokensBefore} to ${tokensAfter} tokens: ${why}`,
      'yellow',
    ),
  StuckEvent: ({ reason }) => line(`stuck: ${reason}`, 'yellow'),
  RecoveryEvent: ({ decision, summary, confidence, source, reasoning }) =>
    line(
      `recovery ${decision}: ${summary} (confidence ${confidence.toFixed(2)}, ${source}): ${reasoning}`,
      'yellow',
    ),
  RecoveryOutcomeEvent: ({ healed, summary }) =>
    line(`recovery ${healed ? 'helped' : 'did not help'}: ${summary}`, healed ? 'green' : 'yellow'),
  WaitStartedEvent: ({ waitingFor }) => line(`waiting for ${waitingFor}`, 'yellow'),
  WaitEndedEvent: ({ waitedFor }) => line(`no longer waiting for ${waitedFor}`),
  GuardWarnedEvent: ({ message }) => line(`guard warns: ${message}`, 'yellow'),
  MessageAddedEvent: ({ text }) => line(`message: ${text}`),
  EscalatedEvent: ({ reason }) => line(`escalated: ${reason}`, 'yellow'),
  ReminderEvent: ({ waitingFor }) => line(`still waiting for ${waitingFor}`, 'yellow'),
  EditRefusedEvent: ({ summary, problems }) =>
    line(`a decision on ${summary} does not count: ${problems}`, 'yellow'),
  SignalDroppedEvent: ({ signal, problem }) =>
    line(`signal ${signal} dropped: ${problem}`, 'yellow'),
  NotifiedEvent: ({ notifiers, about }) =>
    line(`notified ${notifiers.join(', ')} about the ${about}`, 'dim'),
  NotificationFailedEvent: ({ notifiers, about, message }) =>
    line(
      `warning: ${notifiers.join(', ')} could not be notified about the ${about}: ${message}`,
      'yellow',
    ),
  SegmentStartedEvent: ({ segment }) => line(`segment ${segment} of the history begins`, 'dim'),
  RunEndedEvent: ({ status, message }) =>
    line(`${status}: ${message}`, status === 'completed' ? 'green' : 'red'),
};

/** Undefined for an entry that another line says already. */
export function timelineLine(entry: TimelineEntry): DisplayLine | undefined {
  // The table has a function for entries of exactly this type.
  return (lines[entry.type] as (given: TimelineEntry) => DisplayLine | undefined)(entry);
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
