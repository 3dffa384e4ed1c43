/** Gathers the evidence of loops, warns the model once, and ends a run that goes on with its loop. */
import { ringSize } from '../errors/circuit-breaker';
import { noteProvenance } from '../errors/error-context';
import { normaliseText, shortHash } from '../errors/fingerprint';
import { countReply } from './caps';
import type { GuardState } from './state';
import type { CallEvidence, DetectedLoop } from './loop-detector';
import { addEvidence, findLoop, loopRepeats } from './loop-detector';
import { addNote } from '../model-call/notes';
import { prepared } from '../run/loop';
import type { ProposedToolCall, ResultIdentity, RunToolResult } from '../tools/ports';
import { hasRules } from '../rules';
import { endFailed } from '../run/end';
import type { RunState, ToolCallProgress } from '../run/state';
import { forcedStopMessage } from './limits-reached';
import type { Step } from '../run/step';
import { andThen, publish, step } from '../run/step';

type Settled = Extract<ToolCallProgress['status'], { type: 'settled' }>;

/** Characters of a call's name and label in the evidence. */
const summaryChars = 60;

function summaryOf({ name, label }: ProposedToolCall): string {
  return (label === undefined ? name : `${name} ${label}`).slice(0, summaryChars);
}

/** What the detector must keep of a result. */
export function resultIdentity(result: RunToolResult): ResultIdentity {
  const { fingerprint, sketch, outage, saysFailed } = result;
  return {
    fingerprint,
    ...(sketch === undefined ? {} : { sketch }),
    ...(outage === undefined ? {} : { outage }),
    ...(saysFailed === undefined ? {} : { saysFailed }),
  };
}

/** A person had a part in it, or the tool's own service was down: no evidence, and what came before is none any more. */
function breaksLoop({ call, status }: ToolCallProgress): boolean {
  if (call.approvalDigest !== undefined) return true;
  if (status.type !== 'settled') return false;
  const personAnswered = status.ran && status.came === undefined;
  return personAnswered || status.came?.outage === true;
}

/** Identity of what came of a settled call, whether or not it ran. */
function resultOf({ error, came }: Settled): Pick<CallEvidence, 'result' | 'sketch' | 'failed'> {
  return {
    result: came?.fingerprint ?? shortHash(normaliseText(error?.message ?? '')),
    ...(came?.sketch === undefined ? {} : { sketch: came.sketch }),
    ...(error === undefined ? {} : { failed: error.code }),
  };
}

function evidenceOf({ call, status }: ToolCallProgress, reply: number): readonly CallEvidence[] {
  const { alike } = call;
  if (status.type !== 'settled' || alike?.idle === 'waits' || alike?.idle === 'thinks') return [];
  return [
    {
      call: call.fingerprint,
      ...(alike === undefined ? {} : { alike }),
      ...resultOf(status),
      summary: summaryOf(call),
      reply,
      ...(alike?.idle === 'waits-first' ? { waited: true } : {}),
    },
  ];
}

/** The guard after the settled calls of one reply. */
function recordReply(
  guard: GuardState,
  calls: readonly ToolCallProgress[],
  reply: number,
): GuardState {
  const { waited: waitedBefore, warnedLoop: _warned, ...rest } = guard;
  if (calls.some(breaksLoop)) return { ...rest, evidence: [] };
  const waits = waitedBefore === true || calls.some(({ call }) => call.alike?.idle === 'waits');
  const fresh = calls.flatMap((call) => evidenceOf(call, reply));
  if (fresh.length === 0) return waits ? { ...guard, waited: true } : guard;
  const spaced = waits ? fresh.map((call): CallEvidence => ({ ...call, waited: true })) : fresh;
  const { waited: _spent, ...unspaced } = guard;
  return { ...unspaced, evidence: addEvidence(guard.evidence, spaced) };
}

/**
 * The loop that a run is in; undefined where it is in none.
 *
 * Contract: pure. `repeats` is at least `atLeast`.
 */
function detectLoop(guard: GuardState, atLeast: number = loopRepeats): DetectedLoop | undefined {
  return findLoop(guard.evidence, atLeast);
}

/** Forgets what was seen, because somebody else than the model has acted. */
export function forgetLoop(guard: GuardState): GuardState {
  const { waited: _waited, warnedLoop: _warned, ...rest } = guard;
  return { ...rest, evidence: [] };
}

function loopText({ period, repeats, description }: DetectedLoop): string {
  return period === 1
    ? `${repeats} times in a row: ${description}`
    : `the same ${period} steps ${repeats} times in a row: ${description}`;
}

function warning(loop: DetectedLoop): string {
  return [
    noteProvenance,
    `You are repeating yourself, ${loopText(loop)}.`,
    'A further round brings nothing new and will end the run. Use what you know already, or do something different.',
  ].join('\n');
}

/** Takes the settled calls of a reply in, and warns the model once of each loop, a round before it ends the run. */
function watchForLoops(state: RunState, calls: readonly ToolCallProgress[], atMs: number): Step {
  const { maxSameCalls } = prepared(state).snapshot.limits;
  const { warnedLoop, ...guard } = recordReply(state.guard, calls, state.counters.iterations);
  const loop = detectLoop(guard, Math.max(maxSameCalls - 1, 2));
  if (loop === undefined) return step({ ...state, guard });
  const watched: RunState = { ...state, guard: { ...guard, warnedLoop: loop.identity } };
  if (warnedLoop === loop.identity) return step(watched);
  const text = warning(loop);
  return step(
    addNote(watched, text),
    publish(watched, atMs, { type: 'GuardWarnedEvent', message: `loop: ${loopText(loop)}` }),
  );
}

/** Takes the settled calls of a reply in: edits, caps that are used up, loops. */
export function watchReply(
  state: RunState,
  calls: readonly ToolCallProgress[],
  atMs: number,
): Step {
  if (!hasRules(state, 2)) return step(state);
  return andThen(countReply(state, calls, atMs), (counted) => watchForLoops(counted, calls, atMs));
}

/**
 * Ends a run that goes on with its loop.
 *
 * Contract: one and the same failing call is the breaker's to end; here it is only where the breaker does not see it.
 * Source: seed 001 (tool loop, 4 times).
 */
export function endIfLooping(state: RunState, atMs: number): Step | undefined {
  if (!hasRules(state, 2)) return undefined;
  const { limits } = prepared(state).snapshot;
  const loop = detectLoop(state.guard, limits.maxSameCalls);
  if (loop === undefined) return undefined;
  if (loop.fails && loop.period === 1 && loop.repeats <= ringSize) return undefined;
  const what = `detected a tool loop, ${loopText(loop)}`;
  return endFailed(
    state,
    atMs,
    'guard_loop',
    forcedStopMessage(what, state.counters, state.activeMs),
  );
}
