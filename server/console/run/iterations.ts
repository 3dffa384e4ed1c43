/** A run's timeline by iterations, as entries arrive: what a page shows of a run of any length. */
import type { TextDelta } from '../../../workflows/core/model-call/live-text';
import type { Arrived, Entry } from '../api/run-events';

/** One iteration. A change makes a new object, so that only what changed is drawn again. */
export interface Iteration {
  /** 0: before the first. */
  readonly number: number;
  readonly entries: readonly Entry[];
  readonly route?: string;
  /** Tokens of the conversation, as its reply counted them. */
  readonly tokens?: number;
  /** US dollars of its calls, as far as prices are known. */
  readonly usd: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Something failed, was healed, or kept the run waiting in it. */
  readonly isEventful: boolean;
}

/** A run that this one started. */
export interface Subagent {
  readonly runId: string;
  readonly agent: string;
  readonly task: string;
  /** `running` until it ended. */
  readonly status: string;
  readonly usd?: number;
}

/** Entries for which somebody looks through a run. */
const eventful: ReadonlySet<Entry['type']> = new Set<Entry['type']>([
  'ErrorEvent',
  'NoToolCallEvent',
  'ToolResultErrorEvent',
  'HandoffEvent',
  'HealedEvent',
  'FailoverEvent',
  'PromptCutEvent',
  'CompactionEvent',
  'StuckEvent',
  'RecoveryEvent',
  'RecoveryOutcomeEvent',
  'WaitStartedEvent',
  'GuardWarnedEvent',
  'MessageAddedEvent',
  'EscalatedEvent',
  'EditRefusedEvent',
  'SubagentStartedEvent',
  'RunEndedEvent',
]);

function withEntry(iteration: Iteration, entry: Entry): Iteration {
  const usd = entry.type === 'ModelRepliedEvent' ? (entry.usd ?? 0) : 0;
  return {
    ...iteration,
    entries: [...iteration.entries, entry],
    endedAtMs: entry.atMs,
    usd: iteration.usd + usd,
    isEventful: iteration.isEventful || eventful.has(entry.type),
    ...(entry.type === 'IterationStartedEvent' ? { route: entry.route } : {}),
    ...(entry.type === 'ModelRepliedEvent' ? { tokens: entry.tokens } : {}),
  };
}

/** The run so far, made of what arrived. Contract: each entry is added once, in order. */
export class RunTimeline {
  private byNumber = new Map<number, Iteration>();
  private children = new Map<string, Subagent>();
  private words: { readonly iteration: number; readonly text: string } | undefined;
  private last: Entry | undefined;

  add({ entries, deltas }: Arrived): void {
    for (const delta of deltas) this.addWords(delta);
    for (const entry of entries) this.addEntry(entry);
  }

  /** Adds what happened before all that is here. */
  addEarlier(entries: readonly Entry[]): void {
    const whole = new RunTimeline();
    const later = this.iterations.flatMap((iteration) => iteration.entries);
    whole.add({ entries: [...entries, ...later], deltas: [] });
    this.byNumber = whole.byNumber;
    this.children = whole.children;
  }

  /** In order. */
  get iterations(): readonly Iteration[] {
    return [...this.byNumber.values()];
  }

  get subagents(): readonly Subagent[] {
    return [...this.children.values()];
  }

  /** What the model says now; undefined between its replies. */
  get liveText(): string | undefined {
    return this.words?.text;
  }

  get lastEntry(): Entry | undefined {
    return this.last;
  }

  private addEntry(entry: Entry): void {
    const { iteration: number, atMs } = entry;
    const before = this.byNumber.get(number) ?? {
      ...{ number, entries: [], usd: 0, isEventful: false },
      ...{ startedAtMs: atMs, endedAtMs: atMs },
    };
    this.byNumber.set(number, withEntry(before, entry));
    this.last = entry;
    if (entry.type === 'ModelRepliedEvent' || entry.type === 'RunEndedEvent')
      this.words = undefined;
    if (entry.type === 'SubagentStartedEvent')
      this.children.set(entry.runId, { ...entry, status: 'running' });
    const child = entry.type === 'SubagentEndedEvent' ? this.children.get(entry.runId) : undefined;
    if (entry.type === 'SubagentEndedEvent' && child !== undefined)
      this.children.set(entry.runId, {
        ...child,
        status: entry.status,
        ...(entry.usd === undefined ? {} : { usd: entry.usd }),
      });
  }

  private addWords({ iteration, offset, text }: TextDelta): void {
    const before = this.words?.iteration === iteration ? this.words.text : '';
    this.words = { iteration, text: before.slice(0, offset) + text };
  }
}
