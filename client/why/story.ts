/** What failed in a run, what was tried, and what worked: its timeline, counted. */
import type { Failure } from '../../workflows/core/failure';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import { shortened } from '../../workflows/core/shortened';

/** Kinds of things that are counted of each sort; further ones drop the oldest. */
const keptKinds = 100;
/** Characters of one of them. */
const kindChars = 200;

/** Something that happened, and how often. */
export interface Counted {
  readonly what: string;
  readonly times: number;
}

/** A run's timeline, counted. */
export interface RunStory {
  readonly failed: readonly Counted[];
  readonly tried: readonly Counted[];
  readonly worked: readonly Counted[];
  /** The last iteration in which a tool call succeeded; 0 if none did. */
  readonly lastSuccess: number;
  /** The last iteration in which the model replied; 0 if it never did. */
  readonly lastReply: number;
  /** The last failure of the timeline. */
  readonly lastFailure?: Failure;
}

type Sort = 'failed' | 'tried' | 'worked';
/** What an entry says of each sort. */
type Said = Partial<Record<Sort, string>>;
type Readers = {
  readonly [Type in TimelineEntry['type']]?: (
    entry: Extract<TimelineEntry, { type: Type }>,
  ) => Said;
};

/** A failure in one line: its code, where it happened, and its message. */
function failureLine(failure: Failure): string {
  const { kind, code, message } = failure;
  // A provider's failure names its route itself.
  const tool = kind === 'agent' && failure.toolName !== undefined ? ` of ${failure.toolName}` : '';
  return `${code}${tool}: ${message}`;
}

const readers: Readers = {
  ErrorEvent: ({ failure }) => ({ failed: failureLine(failure) }),
  IterationStartedEvent: ({ note }) =>
    note === undefined ? {} : { tried: 'told the model what was wrong, or what to do' },
  FailoverEvent: ({ from, to, reason }) => ({ tried: `went from ${from} to ${to} (${reason})` }),
  CompactionEvent: ({ tokensBefore, tokensAfter, tier }) => ({
    tried: `compacted the conversation from ${tokensBefore} to ${tokensAfter} tokens (tier ${tier})`,
  }),
  GuardWarnedEvent: ({ message }) => ({ tried: `warned the model: ${message}` }),
  RecoveryEvent: ({ summary, decision }) => ({ tried: `recovery: ${summary} (${decision})` }),
  EscalatedEvent: ({ reason }) => ({ tried: `handed the run to a person: ${reason}` }),
  ReminderEvent: ({ waitingFor }) => ({ tried: `reminded people of ${waitingFor}` }),
  NotifiedEvent: ({ about, notifiers }) => ({
    tried: `notified people of the ${about} by ${notifiers.join(', ')}`,
  }),
  NotificationFailedEvent: ({ about, notifiers, message }) => ({
    failed: `notification of the ${about} by ${notifiers.join(', ')}: ${message}`,
  }),
  WaitStartedEvent: ({ waitingFor, wait }) => {
    const isTimed = wait.kind === 'provider' || wait.kind === 'store' || wait.kind === 'pause';
    return { tried: isTimed ? `waited for the ${wait.kind}` : `asked a person for ${waitingFor}` };
  },
  SubagentEndedEvent: ({ runId, status }) =>
    // One that did not complete is an error, too.
    status === 'completed' ? { worked: `subagent ${runId}` } : {},
  HealedEvent: ({ code, how, by }) => ({ worked: `${code}: ${how} (healed by ${by})` }),
  RecoveryOutcomeEvent: ({ summary, healed }) =>
    healed ? { worked: `recovery: ${summary}` } : { failed: `recovery: ${summary}` },
  ToolCallSucceededEvent: ({ summary }) => ({ worked: summary }),
  EditRefusedEvent: ({ summary, problems }) => ({ failed: `decision on ${summary}: ${problems}` }),
  SignalDroppedEvent: ({ signal, problem }) => ({ failed: `signal ${signal}: ${problem}` }),
};

/** Counts a timeline, entry by entry. Contract: bounded, however long the run is. */
export class StoryTeller {
  private readonly counts: Readonly<Record<Sort, Map<string, number>>> = {
    failed: new Map(),
    tried: new Map(),
    worked: new Map(),
  };
  private last: Pick<RunStory, 'lastSuccess' | 'lastReply' | 'lastFailure'> = {
    lastSuccess: 0,
    lastReply: 0,
  };

  add(entry: TimelineEntry): void {
    // The table has a function for entries of exactly this type.
    const read = readers[entry.type] as ((given: TimelineEntry) => Said) | undefined;
    for (const [sort, what] of Object.entries(read?.(entry) ?? {}) as [Sort, string][])
      this.count(sort, what);
    const { iteration } = entry;
    if (entry.type === 'ToolCallSucceededEvent')
      this.last = { ...this.last, lastSuccess: iteration };
    if (entry.type === 'ModelRepliedEvent') this.last = { ...this.last, lastReply: iteration };
    if (entry.type !== 'ErrorEvent') return;
    this.last = { ...this.last, lastFailure: entry.failure };
    const retried = entry.failure.kind === 'infra' ? (entry.failure.retried ?? []) : [];
    for (const code of retried) this.count('tried', `asked the same route again after ${code}`);
  }

  story(): RunStory {
    const counted = (sort: Sort): readonly Counted[] =>
      Array.from(this.counts[sort], ([what, times]) => ({ what, times }));
    return {
      failed: counted('failed'),
      tried: counted('tried'),
      worked: counted('worked'),
      ...this.last,
    };
  }

  /** The newest kind comes last. */
  private count(sort: Sort, text: string): void {
    const counts = this.counts[sort];
    const what = shortened(text.replace(/\s+/g, ' ').trim(), kindChars);
    const times = (counts.get(what) ?? 0) + 1;
    counts.delete(what);
    counts.set(what, times);
    const [oldest] = counts.keys();
    if (counts.size > keptKinds && oldest !== undefined) counts.delete(oldest);
  }
}
