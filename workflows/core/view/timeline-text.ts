/** One line of text per entry of a run's timeline: what terminals and pages show. Pure. */
import { nanoUsdOf, usdText } from '../budget/spend';
import { promptCutText } from '../context/size';
import type { Failure } from '../failure';
import { defined } from '../json';
import type { TimelineEntry } from '../run/protocol';

/** What kind of news an entry is: how a display may color it. */
export type EntryTone = 'heading' | 'began' | 'failed' | 'warned' | 'healed' | 'quiet';

/** An entry in words. Its text holds what models and tools wrote, and is not made safe for a terminal or a page. */
export interface EntryText {
  readonly text: string;
  /** Absent for ordinary news. */
  readonly tone?: EntryTone;
}

const entryText = (text: string, tone?: EntryTone): EntryText => ({ text, ...defined({ tone }) });

function failureText(failure: Failure): string {
  const retried = failure.kind === 'infra' ? (failure.retried ?? []) : [];
  const earlier = retried.length === 0 ? '' : ` (after retries of ${retried.join(', ')})`;
  return `${failure.code}${earlier}: ${failure.message}`;
}

function costText(usd: number | undefined): string {
  return usd === undefined ? '' : ` (${usdText(nanoUsdOf(usd))})`;
}

type TextOf<Type extends TimelineEntry['type']> = (
  entry: Extract<TimelineEntry, { type: Type }>,
) => EntryText | undefined;

const texts: { readonly [Type in TimelineEntry['type']]: TextOf<Type> } = {
  ErrorEvent: ({ failure }) => entryText(`error ${failureText(failure)}`, 'failed'),
  NoToolCallEvent: ({ error }) => entryText(`no tool call: ${error.message}`, 'warned'),
  ToolResultErrorEvent: ({ error }) =>
    entryText(`${error.toolName ?? 'tool'} failed: ${failureText(error)}`, 'warned'),
  RunStartedEvent: ({ agent, goal }) => entryText(`run of ${agent}: ${goal}`, 'heading'),
  IterationStartedEvent: ({ iteration, route, isFallback, note }) => {
    const advice = note === undefined ? '' : ', with advice on the last error';
    const fallback = isFallback ? ' (fallback)' : '';
    return entryText(`iteration ${iteration} on ${route}${fallback}${advice}`, 'began');
  },
  ModelRepliedEvent: ({ text, usd }) =>
    text === '' ? undefined : entryText(`model${costText(usd)}: ${text}`),
  ToolCallStartedEvent: ({ summary }) => entryText(`run ${summary}`),
  ToolCallSucceededEvent: ({ summary, preview }) =>
    entryText(`done ${summary}${preview === '' ? '' : `: ${preview}`}`, 'quiet'),
  SubagentStartedEvent: ({ agent, runId, task }) =>
    entryText(`subagent ${agent} (run ${runId}): ${task}`, 'began'),
  SubagentEndedEvent: ({ status, runId, usd, message }) =>
    entryText(
      `subagent ${status} (run ${runId})${costText(usd)}: ${message}`,
      status === 'completed' ? 'quiet' : 'warned',
    ),
  HandoffEvent: ({ from, to, reason }) =>
    entryText(`${from} hands over to ${to}${reason === '' ? '' : `: ${reason}`}`, 'began'),
  GuardrailEvent: ({ name, stage, verdict, message = '' }) =>
    entryText(
      `${stage} guardrail ${name} ${verdict}${message === '' ? '' : `: ${message}`}`,
      verdict === 'passed' ? 'quiet' : 'warned',
    ),
  HealedEvent: ({ code, how }) => entryText(`healed ${code}: ${how}`, 'healed'),
  FailoverEvent: ({ from, to, reason }) =>
    entryText(`failover from ${from} to ${to}: ${reason}`, 'warned'),
  ContextWarningEvent: ({ tokens, windowTokens }) =>
    entryText(`the conversation nears its window: ${tokens} of ${windowTokens} tokens`, 'warned'),
  PromptCutEvent: ({ route, countedTokens, measuredTokens }) =>
    entryText(promptCutText(route, countedTokens, measuredTokens), 'warned'),
  MediaLeftOutEvent: ({ route, media }) =>
    entryText(`${route} did not get: ${media.join('; ')}`, 'warned'),
  CompactionEvent: ({ tier, tokensBefore, tokensAfter, why }) =>
    entryText(
      `compacted (tier ${tier}) from ${tokensBefore} to ${tokensAfter} tokens: ${why}`,
      'warned',
    ),
  StuckEvent: ({ reason }) => entryText(`stuck: ${reason}`, 'warned'),
  RecoveryEvent: ({ decision, summary, confidence, source, reasoning }) =>
    entryText(
      `recovery ${decision}: ${summary} (confidence ${confidence.toFixed(2)}, ${source}): ${reasoning}`,
      'warned',
    ),
  RecoveryOutcomeEvent: ({ healed, summary }) =>
    entryText(
      `recovery ${healed ? 'helped' : 'did not help'}: ${summary}`,
      healed ? 'healed' : 'warned',
    ),
  WaitStartedEvent: ({ waitingFor }) => entryText(`waiting for ${waitingFor}`, 'warned'),
  WaitEndedEvent: ({ waitedFor }) => entryText(`no longer waiting for ${waitedFor}`),
  GuardWarnedEvent: ({ message }) => entryText(`guard warns: ${message}`, 'warned'),
  MessageAddedEvent: ({ text }) => entryText(`message: ${text}`),
  EscalatedEvent: ({ reason }) => entryText(`escalated: ${reason}`, 'warned'),
  ReminderEvent: ({ waitingFor }) => entryText(`still waiting for ${waitingFor}`, 'warned'),
  EditRefusedEvent: ({ summary, problems }) =>
    entryText(`a decision on ${summary} does not count: ${problems}`, 'warned'),
  SignalDroppedEvent: ({ signal, problem }) =>
    entryText(`signal ${signal} dropped: ${problem}`, 'warned'),
  NotifiedEvent: ({ notifiers, about }) =>
    entryText(`notified ${notifiers.join(', ')} about the ${about}`, 'quiet'),
  NotificationFailedEvent: ({ notifiers, about, message }) =>
    entryText(
      `warning: ${notifiers.join(', ')} could not be notified about the ${about}: ${message}`,
      'warned',
    ),
  SegmentStartedEvent: ({ segment }) =>
    entryText(`segment ${segment} of the history begins`, 'quiet'),
  RunEndedEvent: ({ status, message }) =>
    entryText(`${status}: ${message}`, status === 'completed' ? 'healed' : 'failed'),
};

/** The entry in words; undefined for a reply without text, whose calls have entries of their own. */
export function timelineText(entry: TimelineEntry): EntryText | undefined {
  // The table has a function for entries of exactly this type.
  return (texts[entry.type] as (given: TimelineEntry) => EntryText | undefined)(entry);
}
