/** One line per entry of a run's timeline, and what a person can do about what waits. */
import type { Failure } from '../../../workflows/core/failure';
import { nanoUsdOf, usdText } from '../../../workflows/core/budget/spend';
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import type { PendingItem } from '../../../workflows/core/view/pending';
import type { ExpiryAction } from '../../../workflows/core/tools/ports';
import type { RecoveryExpiry } from '../../../workflows/core/recovery/action';
import type { Color } from './terminal-text';
import { duration, printable } from './terminal-text';

/** What a line says, and how it is meant. */
export interface DisplayLine {
  readonly color?: Color;
  /** Must not be cut: a person has to read all of it. */
  readonly isWhole?: true;
  readonly text: string;
}

/** A line, its indentation kept. */
const line = (text: string, color?: Color): DisplayLine => ({
  text: (/^ +/.exec(text)?.[0] ?? '') + printable(text),
  ...(color === undefined ? {} : { color }),
});

function failureText({ code, message }: Failure): string {
  return `${code}: ${message}`;
}

function costOfReply({ usd }: { readonly usd?: number }): string {
  return usd === undefined ? '' : ` (${usdText(nanoUsdOf(usd))})`;
}

function subagentLine(
  entry: Extract<TimelineEntry, { type: 'SubagentStartedEvent' | 'SubagentEndedEvent' }>,
): DisplayLine {
  if (entry.type === 'SubagentStartedEvent')
    return line(`subagent ${entry.agent} (run ${entry.runId}): ${entry.task}`, 'cyan');
  return line(
    `subagent ${entry.status} (run ${entry.runId})${costOfReply(entry)}: ${entry.message}`,
    entry.status === 'completed' ? 'dim' : 'yellow',
  );
}

function notificationLine(
  entry: Extract<TimelineEntry, { type: 'NotifiedEvent' | 'NotificationFailedEvent' }>,
): DisplayLine {
  const who = entry.notifiers.join(', ');
  return entry.type === 'NotifiedEvent'
    ? line(`notified ${who} about the ${entry.about}`, 'dim')
    : line(
        `warning: ${who} could not be notified about the ${entry.about}: ${entry.message}`,
        'yellow',
      );
}

type RecoveryEntry = Extract<
  TimelineEntry,
  { type: 'StuckEvent' | 'RecoveryEvent' | 'RecoveryOutcomeEvent' }
>;

function recoveryLine(entry: RecoveryEntry): DisplayLine {
  switch (entry.type) {
    case 'StuckEvent':
      return line(`stuck: ${entry.reason}`, 'yellow');
    case 'RecoveryEvent':
      return line(
        `recovery ${entry.decision}: ${entry.summary} (confidence ${entry.confidence}, ${entry.source}): ${entry.reasoning}`,
        'yellow',
      );
    case 'RecoveryOutcomeEvent':
      return line(
        `recovery ${entry.healed ? 'helped' : 'did not help'}: ${entry.summary}`,
        entry.healed ? 'green' : 'yellow',
      );
  }
}

type PeopleEntry = Extract<
  TimelineEntry,
  {
    type:
      | 'WaitStartedEvent'
      | 'WaitEndedEvent'
      | 'GuardWarnedEvent'
      | 'MessageAddedEvent'
      | 'EscalatedEvent'
      | 'ReminderEvent'
      | 'EditRefusedEvent'
      | 'SignalDroppedEvent';
  }
>;

/** What waits, and what people did or must know. */
function peopleLine(entry: PeopleEntry): DisplayLine {
  switch (entry.type) {
    case 'WaitStartedEvent':
      return line(`waiting for ${entry.waitingFor}`, 'yellow');
    case 'WaitEndedEvent':
      return line(`no longer waiting for ${entry.waitedFor}`);
    case 'GuardWarnedEvent':
      return line(`guard warns: ${entry.message}`, 'yellow');
    case 'MessageAddedEvent':
      return line(`message: ${entry.text}`);
    case 'EscalatedEvent':
      return line(`escalated: ${entry.reason}`, 'yellow');
    case 'ReminderEvent':
      return line(`still waiting for ${entry.waitingFor}`, 'yellow');
    case 'EditRefusedEvent':
      return line(`changed arguments of ${entry.summary} cannot run: ${entry.problems}`, 'yellow');
    case 'SignalDroppedEvent':
      return line(`signal ${entry.signal} dropped: ${entry.problem}`, 'yellow');
  }
}

function contextText(
  entry: Extract<TimelineEntry, { type: 'ContextWarningEvent' | 'CompactionEvent' }>,
): string {
  return entry.type === 'ContextWarningEvent'
    ? `the conversation nears its window: ${entry.tokens} of ${entry.windowTokens} tokens`
    : `compacted (tier ${entry.tier}) from ${entry.tokensBefore} to ${entry.tokensAfter} tokens: ${entry.why}`;
}

/** Undefined for an entry that another line says already. */
export function timelineLine(entry: TimelineEntry): DisplayLine | undefined {
  switch (entry.type) {
    case 'ErrorEvent':
      return line(`error ${failureText(entry.failure)}`, 'red');
    case 'NoToolCallEvent':
      return line(`no tool call: ${entry.error.message}`, 'yellow');
    case 'ToolResultErrorEvent':
      return line(
        `${entry.error.toolName ?? 'tool'} failed: ${failureText(entry.error)}`,
        'yellow',
      );
    case 'RunStartedEvent':
      return line(`run of ${entry.agent}: ${entry.goal}`, 'bold');
    case 'IterationStartedEvent':
      return line(
        `iteration ${entry.iteration} on ${entry.route}${entry.isFallback ? ' (fallback)' : ''}${entry.note === undefined ? '' : ', with advice on the last error'}`,
        'cyan',
      );
    case 'ModelRepliedEvent':
      return entry.text === '' ? undefined : line(`model${costOfReply(entry)}: ${entry.text}`);
    case 'ToolCallStartedEvent':
      return line(`run ${entry.summary}`);
    case 'ToolCallSucceededEvent':
      return line(
        `done ${entry.summary}${entry.preview === '' ? '' : `: ${entry.preview}`}`,
        'dim',
      );
    case 'SubagentStartedEvent':
    case 'SubagentEndedEvent':
      return subagentLine(entry);
    case 'HealedEvent':
      return line(`healed ${entry.code}: ${entry.how}`, 'green');
    case 'FailoverEvent':
      return line(`failover from ${entry.from} to ${entry.to}: ${entry.reason}`, 'yellow');
    case 'ContextWarningEvent':
    case 'CompactionEvent':
      return line(contextText(entry), 'yellow');
    case 'StuckEvent':
    case 'RecoveryEvent':
    case 'RecoveryOutcomeEvent':
      return recoveryLine(entry);
    case 'WaitStartedEvent':
    case 'WaitEndedEvent':
    case 'GuardWarnedEvent':
    case 'MessageAddedEvent':
    case 'EscalatedEvent':
    case 'ReminderEvent':
    case 'EditRefusedEvent':
    case 'SignalDroppedEvent':
      return peopleLine(entry);
    case 'NotifiedEvent':
    case 'NotificationFailedEvent':
      return notificationLine(entry);
    case 'SegmentStartedEvent':
      return line(`segment ${entry.segment} of the history begins`, 'dim');
    case 'RunEndedEvent':
      return endLine(entry);
  }
}

function endLine({
  status,
  message,
}: Extract<TimelineEntry, { type: 'RunEndedEvent' }>): DisplayLine {
  return line(`${status}: ${message}`, status === 'completed' ? 'green' : 'red');
}

const ends: { readonly [Action in ExpiryAction | RecoveryExpiry]: string } = {
  reject: 'then it is rejected',
  escalate: 'then it is escalated',
  wait: 'then people are reminded',
  'give-up': 'then the run gives up',
  continue: 'then the run goes on without',
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
  const label = item.label === undefined ? '' : ` ${item.label}`;
  const input =
    item.input === undefined
      ? item.inputBlob === undefined
        ? ''
        : ` (arguments in the store: ${item.inputBlob})`
      : ` ${JSON.stringify(item.input)}`;
  const privileged =
    item.privileged === undefined ? '' : ` (privileged: ${item.privileged.join(', ')})`;
  const checking = item.checkingEdit === true ? ' (changed arguments are being checked)' : '';
  return `wants approval of ${item.tool}${label}${input}${privileged}${checking}`;
}

/** What waits and how long, then the commands that end the wait, each on a line of its own. */
export function pendingLines(
  runId: string,
  item: PendingItem,
  nowMs = Date.now(),
): readonly DisplayLine[] {
  const limit = limitText(item, nowMs);
  if (item.type === 'question') {
    const asked = `asks: ${item.question.trim()}${limit}`.split(/(?:\r\n|[\r\n])+/);
    return [
      ...asked.map((part, index) => line(index === 0 ? part : `  ${part.trim()}`, 'yellow')),
      line(`  holdfast answer ${runId} TEXT`),
    ];
  }
  return [
    line(`${wish(item)}${limit}`, 'yellow'),
    line(`  holdfast approve ${runId} ${item.approvalId}`),
    line(`  holdfast reject ${runId} ${item.approvalId} --reason TEXT`),
  ];
}

/** Identifies a pending item, to distinguish new ones from those that were shown. */
export function pendingKey(item: PendingItem): string {
  return item.type === 'approval' ? item.approvalId : `${item.questionId}:${item.question}`;
}
