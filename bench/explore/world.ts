/** The world around one run: what is in flight, timers, people, and what the explorer knows to be true of the run. */
import type { JsonObject } from '../../workflows/core/json';
import type { RunCommand } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import type { PendingResult } from '../../workflows/core/tools/ports';
import type { Core } from './core';
import type { SmallAgent } from './small-agent';

/** Something that comes back: an activity or a subagent. */
export type AwaitedCommand = Extract<
  RunCommand,
  {
    type:
      | 'prepare-run'
      | 'hand-over'
      | 'check-guardrails'
      | 'call-model'
      | 'compact'
      | 'plan-recovery'
      | 'run-tool'
      | 'check-edit'
      | 'run-subagent';
  }
>;

/** A thing in flight. */
export interface InFlight {
  readonly command: AwaitedCommand;
  readonly isCancelled: boolean;
}

/** What the explorer knows of a tool call. */
export interface KnownCall {
  readonly name: string;
  /** As people read it in reports; no other call has it. */
  readonly label: string;
  readonly runs: number;
  readonly isDelegated?: true;
  readonly isPaused?: boolean;
  /** A person must decide on it first. */
  readonly needsApproval?: true;
  readonly approved?: { readonly input: JsonObject | undefined };
  readonly isRejected?: true;
  /** The runtime made it. */
  readonly isOwn?: true;
  readonly startedAtMs?: number;
  /** What it last came to. */
  readonly last?: string;
  /** Blob of its result. */
  readonly result?: string;
}

/** Entries of the timeline that begin and end something. */
interface Story {
  readonly openWaits: readonly string[];
  /** A wait that ended without a start. */
  readonly oddEnd?: string;
  readonly started: ReadonlyMap<string, number>;
  readonly ended: ReadonlyMap<string, number>;
}

/** What people did so far. */
interface PeopleSoFar {
  readonly messages: number;
  readonly escalations: number;
  readonly answers: number;
  readonly isStopped?: true;
  readonly isCancelled?: true;
}

/** Something that must not be: its kind, and what happened. */
export interface Problem {
  readonly kind: string;
  readonly text: string;
}

/** One state of the world. Contract: nothing in it is changed in place; `World` is copied for each action. */
export interface World {
  readonly core: Core;
  readonly agent: SmallAgent;
  readonly store: TranscriptStore;
  state: RunState;
  nowMs: number;
  inFlight: ReadonlyMap<string, InFlight>;
  /** Of each notification: whether it was called back. */
  notifications: ReadonlyMap<string, boolean>;
  /** When each timer is due. */
  timers: ReadonlyMap<string, number>;
  /** Timers that had fired before they were cancelled: their events may still come. */
  lateTimers: readonly string[];
  wantsRollOver: boolean;
  segments: number;
  /** Every id of an activity so far, with what it was. */
  activities: ReadonlyMap<string, { readonly type: string; readonly toolCallId?: string }>;
  everTimers: ReadonlySet<string>;
  calls: ReadonlyMap<string, KnownCall>;
  isPrepared: boolean;
  /** What people said and the run took. */
  accepted: readonly string[];
  /** Of that, what model calls carried. */
  carried: readonly string[];
  spentNanoUsd: number;
  succeeded: number;
  ends: number;
  story: Story;
  people: PeopleSoFar;
  /** What was wrong with the last action. */
  problems: readonly Problem[];
}

/** A message of a transcript, as far as the explorer looks at it. */
export type Entry =
  | { readonly type: 'said'; readonly text: string }
  | { readonly type: 'reply'; readonly calls: readonly string[] }
  /** `isOwn`: of calls that the runtime made. */
  | {
      readonly type: 'results';
      readonly results: readonly PendingResult[];
      readonly isOwn?: true;
    }
  | { readonly type: 'compacted'; readonly by: string };

/** Transcripts by their identity. */
export class TranscriptStore {
  private readonly transcripts = new Map<string, readonly Entry[]>([['', []]]);
  private readonly ids = new Map<string, string>();

  append(head: string, added: readonly Entry[]): string {
    if (added.length === 0) return head;
    const key = `${head} ${JSON.stringify(added)}`;
    const known = this.ids.get(key);
    if (known !== undefined) return known;
    const id = `head-${this.ids.size + 1}`;
    this.ids.set(key, id);
    this.transcripts.set(id, [...this.entries(head), ...added]);
    return id;
  }

  entries(head: string | undefined): readonly Entry[] {
    return this.transcripts.get(head ?? '') ?? [];
  }
}

/** Adds a problem of the last action. */
export function report(world: World, kind: string, text: string): void {
  world.problems = [...world.problems, { kind, text }];
}

/** The map with one entry more, or another one. */
export function withEntry<Value>(
  map: ReadonlyMap<string, Value>,
  key: string,
  value: Value,
): ReadonlyMap<string, Value> {
  return new Map(map).set(key, value);
}

/** The map without one entry. */
export function withoutEntry<Value>(
  map: ReadonlyMap<string, Value>,
  key: string,
): ReadonlyMap<string, Value> {
  const copy = new Map(map);
  copy.delete(key);
  return copy;
}

/** Changes what is known of a call. */
export function learn(world: World, toolCallId: string, more: Partial<KnownCall>): void {
  const known = world.calls.get(toolCallId) ?? { name: '?', label: toolCallId, runs: 0 };
  world.calls = withEntry(world.calls, toolCallId, { ...known, ...more });
}

/** Ids of the calls that the last reply makes and nothing answers. */
export function openCalls(entries: readonly Entry[]): readonly string[] {
  const last = entries.at(-1);
  return last?.type === 'reply' ? last.calls : [];
}

/** The id under which a command comes back. */
export function idOf(command: AwaitedCommand): string {
  return command.type === 'prepare-run' ? 'prepare' : command.callId;
}

/** Everything that may happen to a world, as text: `m1=answer`, `approve ID`, `fire TIMER`, `roll`. */
export type Action = string;
