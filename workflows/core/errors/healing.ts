/** What became of the mistakes and failures that the model could correct: when one is over, and what healed it. */
import type { AgentError, AgentErrorCode, HealedBy } from '../failure';
import { defined } from '../json';
import type { AccountSlice } from '../run/account';
import type { Move } from '../run/move';
import { publish, stay } from '../run/move';
import type { ProposedToolCall } from '../tools/ports';
import { resetBreaker } from './circuit-breaker';
import { inputOf } from './fingerprint';
import type { ErrorsSlice, OpenTrouble } from './state';
import { countHealed } from './state';

/** A call that failed or worked, as far as it says what it was for. */
export type TriedCall = Pick<ProposedToolCall, 'name' | 'input' | 'inputBlob' | 'said'>;

/** Troubles that are remembered; older ones are dropped, and count as not healed. */
const openTroubles = 64;

/** Mistakes in a reply as a whole: over with the next reply that comes to something, whatever it calls. */
const replyMistakes: ReadonlySet<AgentErrorCode> = new Set([
  'no_tool_call',
  'empty_reply',
  'invalid_json',
  'missing_tool_name',
  'invalid_tool',
  'output_truncated',
  'invalid_answer',
  'premature_answer',
]);

function troubleOf(
  { code, toolName }: AgentError,
  call: TriedCall | undefined,
  iteration: number,
): OpenTrouble {
  const tool = replyMistakes.has(code) ? undefined : (call?.name ?? toolName);
  const input = tool === undefined || call === undefined ? undefined : inputOf(call);
  return { code, times: 1, iteration, ...defined({ tool, input }) };
}

/** Whether the trouble of an earlier reply came again: with the same input, or with what the model tried next instead. */
function isRepeated(before: OpenTrouble, now: OpenTrouble): boolean {
  if (before.code !== now.code || before.tool !== now.tool) return false;
  if (before.iteration === now.iteration) return false;
  return before.input === now.input || before.iteration === now.iteration - 1;
}

/**
 * Opens a trouble for each error of one iteration, or counts one that came again: what helped with it did not help. A person's
 * rejection is no trouble, since there is nothing to heal.
 */
export function openTrouble<State extends ErrorsSlice & AccountSlice>(
  state: State,
  errors: readonly AgentError[],
  calls: readonly (TriedCall | undefined)[],
): State {
  const { iterations } = state.counters;
  // A reply of which nothing ran was no try of what is open besides.
  const untried = calls.length === 0 || errors.every(({ code }) => replyMistakes.has(code));
  let open = untried
    ? state.unhealed.map((each) => ({
        ...each,
        iteration: each.tool === undefined ? each.iteration : iterations,
      }))
    : state.unhealed;
  let { troubles } = state.corrections;
  for (const [index, error] of errors.entries()) {
    if (error.code === 'tool_denied') continue;
    const trouble = troubleOf(error, calls[index], iterations);
    const same = open.findLast((each) => isRepeated(each, trouble));
    if (same === undefined) troubles += 1;
    const others = open.filter((each) => each !== same);
    open = [...others, { ...trouble, times: (same?.times ?? 0) + 1 }].slice(-openTroubles);
  }
  return { ...state, unhealed: open, corrections: { ...state.corrections, troubles } };
}

/** Somebody helped: if what is open is over next, it was not the model alone. */
export function creditHelp<State extends ErrorsSlice>(
  state: State,
  helpedBy: 'recovery' | 'person',
): State {
  return { ...state, unhealed: state.unhealed.map((open) => ({ ...open, helpedBy })) };
}

/** What a call that worked is to a trouble: the same call again, or the next try of its tool. */
function healerOf(call: TriedCall, open: OpenTrouble, iteration: number): HealedBy | undefined {
  if (open.tool !== call.name) return undefined;
  if (open.input !== undefined && open.input === inputOf(call)) return 'retry';
  return open.iteration >= iteration - 1 ? 'model' : undefined;
}

function howOf(by: HealedBy, { times }: OpenTrouble): string {
  switch (by) {
    case 'retry':
      return 'the same call worked when it was made again';
    case 'recovery':
      return 'recovery helped';
    case 'person':
      return 'a person helped';
    case 'failover':
      return 'another provider answered';
    case 'model':
      return times === 1
        ? 'the model corrected itself after the error note'
        : `the model corrected itself after ${times} error notes`;
  }
}

/**
 * Something worked, so the ring is empty again; and each trouble that it ends is healed: a mistake in a reply by any reply that
 * comes to something, the failure of a tool only by the same call, or by the model's next try of that tool. A next try ends one
 * failure, but every mistake in parameters.
 *
 * Contract: called before the errors of the same iteration are taken. `again` are those errors: a trouble among them is not over.
 */
export function healErrors<State extends ErrorsSlice & AccountSlice>(
  state: State,
  calls: readonly TriedCall[],
  again: readonly AgentError[] = [],
): Move<State> {
  const { iterations } = state.counters;
  const isOver = new Map<OpenTrouble, HealedBy>();
  for (const open of state.unhealed)
    if (open.tool === undefined && again.every(({ code }) => code !== open.code))
      isOver.set(open, 'model');
  for (const call of calls) {
    const fitting = state.unhealed.filter((open) => !isOver.has(open));
    for (const open of fitting)
      if (healerOf(call, open, iterations) === 'retry') isOver.set(open, 'retry');
    if (fitting.some((open) => isOver.has(open))) continue;
    const next = fitting.filter((open) => healerOf(call, open, iterations) === 'model');
    const [newest] = next.slice(-1);
    for (const open of next)
      if (open === newest || open.code === 'invalid_params') isOver.set(open, 'model');
  }
  const healed = [...isOver].map(([open, by]) => ({ open, by: open.helpedBy ?? by }));
  const atFirstRetry = healed.filter(
    ({ open, by }) => open.times === 1 && by !== 'recovery' && by !== 'person',
  );
  const counted = countHealed(
    state,
    healed.map(({ open, by }) => [open.code, by]),
  );
  return stay(
    resetBreaker({
      ...counted,
      unhealed: state.unhealed.filter((open) => !isOver.has(open)),
      corrections: {
        ...state.corrections,
        atFirstRetry: state.corrections.atFirstRetry + atFirstRetry.length,
      },
    }),
    ...healed.map(({ open, by }) =>
      publish({ type: 'HealedEvent', code: open.code, how: howOf(by, open), by }),
    ),
  );
}
