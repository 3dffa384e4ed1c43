/** A move of the core: a new state, what the shell must do, and which part of the loop comes next. */
import type { AgentError, Failure } from '../failure';
import { defined } from '../json';
import type { Head } from '../message';
import type { ProposedToolCall } from '../tools/ports';
import type { RuntimeCall } from '../tools/state';
import type { Stop } from './outcome';
import type { RunCommand, UnstampedEntry } from './protocol';

/** The part of the loop that a move leads to (`loop.ts`). */
export type NextPart =
  | { readonly type: 'prepare' }
  /** The next agent is prepared. */
  | { readonly type: 'hand-over' }
  /** The agent's guardrails check what it is asked. */
  | { readonly type: 'check-input' }
  | { readonly type: 'begin-iteration' }
  | { readonly type: 'call-model' }
  /** Nothing of a reply can run; `calls` are the calls that it made. */
  | {
      readonly type: 'reject-reply';
      readonly errors: readonly AgentError[];
      readonly calls: readonly ProposedToolCall[];
    }
  /** At least one call of a reply can run or wait. `head` holds the reply. */
  | {
      readonly type: 'admit-calls';
      readonly calls: readonly ProposedToolCall[];
      readonly head: Head;
      readonly recovery?: RuntimeCall;
    }
  /** Calls of the current reply became ready. */
  | { readonly type: 'run-calls' }
  /** A call of the current reply has its result. */
  | { readonly type: 'settle' }
  /** The agent's guardrails check the proposed answer. */
  | { readonly type: 'check-answer' }
  /** The run reached its goal by the proposed answer. */
  | { readonly type: 'complete' }
  /** The runtime ends the run. */
  | ({ readonly type: 'fail'; readonly failure?: Failure } & Stop);

/** A command as a room gives it: the loop stamps what is published. */
export type UnstampedCommand =
  | Exclude<RunCommand, { type: 'publish' }>
  | { readonly type: 'publish'; readonly entry: UnstampedEntry };

/** What the core decided about a state. */
export interface Move<State, Command = UnstampedCommand> {
  readonly state: State;
  readonly commands: readonly Command[];
  readonly next?: NextPart;
}

/** A move after which the run waits for the next event. */
export function stay<State>(state: State, ...commands: readonly UnstampedCommand[]): Move<State> {
  return { state, commands };
}

/** A move after which the loop continues with a part of it. */
export function goTo<State>(
  next: Exclude<NextPart['type'], 'reject-reply' | 'admit-calls' | 'fail'>,
  state: State,
  ...commands: readonly UnstampedCommand[]
): Move<State> {
  return { state, commands, next: { type: next } };
}

/** A move that ends the run: always with a reason that a person can read. */
export function fail<State>(state: State, stop: Stop, failure?: Failure): Move<State> {
  return { state, commands: [], next: { type: 'fail', ...stop, ...defined({ failure }) } };
}

/** Decides further about the state of a move; keeps the commands of all, in order. */
export function andThen<State>(
  first: Move<State>,
  ...decisions: readonly ((state: State) => Move<State>)[]
): Move<State> {
  return decisions.reduce((before, decide) => {
    const { state, commands, next = before.next } = decide(before.state);
    return { state, commands: [...before.commands, ...commands], ...defined({ next }) };
  }, first);
}

/** The move with commands before its own. */
export function precededBy<State>(
  commands: readonly UnstampedCommand[],
  decided: Move<State>,
): Move<State> {
  return { ...decided, commands: [...commands, ...decided.commands] };
}

/** A timeline entry; the loop stamps it with time and iteration. */
export function publish(entry: UnstampedEntry): UnstampedCommand {
  return { type: 'publish', entry };
}

/** Characters of a label in the Web UI's timeline, which shows them left of a late row, and cuts off what does not fit: the beginning. */
const labelChars = 50;

/** A text as a label. Contract: what matters comes first in `text`. */
export function labelOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= labelChars ? line : `${line.slice(0, labelChars - 1)}…`;
}

/** Commands that stop these timers. */
export function cancelTimers(
  timerIds: readonly string[],
): readonly Extract<RunCommand, { type: 'cancel-timer' }>[] {
  return timerIds.map((timerId) => ({ type: 'cancel-timer', timerId }));
}

/** The commands with more of them, which come before an end of the run or the segment. */
export function withBeforeEnd(
  commands: readonly RunCommand[],
  more: readonly RunCommand[],
): readonly RunCommand[] {
  const last = commands.findIndex(({ type }) => type === 'end-run' || type === 'roll-over');
  const place = last < 0 ? commands.length : last;
  return [...commands.slice(0, place), ...more, ...commands.slice(place)];
}

/** When something happens, and whether the server wants a new segment. */
export interface Moment {
  readonly atMs: number;
  readonly rollOverSuggested?: boolean;
}
