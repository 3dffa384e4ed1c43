/** Gathers the evidence of loops, warns the model once, and says when a loop ends the run. */
import { ringSize } from '../errors/circuit-breaker';
import { noteProvenance, addTroubleNote } from '../model-call/next-request';
import { exactCall, normalizeText, shortHash } from '../errors/fingerprint';
import type { CountersSlice } from '../run/account';
import type { Stop } from '../run/outcome';
import type { SnapshotSlice } from '../run/ports';
import { defined, without } from '../json';
import { prepared } from '../run/ports';
import type { Move } from '../run/move';
import { publish, stay } from '../run/move';
import type { NextRequestSlice } from '../model-call/next-request';
import { inertLine } from '../secrets/inert-tags';
import { shortened } from '../shortened';
import type { SettledStatus, ToolCallProgress } from '../tools/state';
import { callSummary } from '../tools/state';
import { forcedStop } from './hard-limits';
import type { DetectedLoop } from './loop-detector';
import { addEvidence, findLoop } from './loop-detector';
import type { CallEvidence, GuardSlice, GuardState } from './state';

/** Characters of a call's name and label in the evidence. */
const summaryChars = 60;

/** A person took part, or the tool's own service was down: this is not evidence, and it clears the evidence before it. */
function breaksLoop({ call, status }: ToolCallProgress): boolean {
  if (call.approvalDigest !== undefined) return true;
  if (status.type !== 'settled') return false;
  const personAnswered = status.ran && status.identity === undefined;
  return personAnswered || status.identity?.outage === true;
}

/** Identity of the outcome of a settled call, whether or not it ran. */
function resultOf({
  error,
  identity,
}: SettledStatus): Pick<CallEvidence, 'result' | 'sketch' | 'failed'> {
  return {
    result: identity?.fingerprint ?? shortHash(normalizeText(error?.message ?? '')),
    ...defined({ sketch: identity?.sketch, failed: error?.code }),
  };
}

/** Whether the call was not made because it repeats an effect. */
function wasAskedAbout({ call, status }: ToolCallProgress, guard: GuardState): boolean {
  return (
    status.type === 'settled' &&
    !status.ran &&
    status.error?.code === 'tool_denied' &&
    exactCall(call) === guard.newestCall
  );
}

function evidenceOf(
  progress: ToolCallProgress,
  reply: number,
  guard: GuardState,
): readonly CallEvidence[] {
  const { call, status } = progress;
  const { alike } = call;
  if (status.type !== 'settled' || alike?.idle === 'waits' || alike?.idle === 'thinks') return [];
  const newest = guard.evidence.at(-1);
  // A round of the loop, though it was not made.
  if (newest !== undefined && wasAskedAbout(progress, guard)) return [{ ...newest, reply }];
  return [
    {
      call: call.fingerprint,
      ...defined({ alike }),
      ...resultOf(status),
      summary: shortened(callSummary(call), summaryChars),
      reply,
      ...(alike?.idle === 'waits-first' ? { waited: true } : {}),
    },
  ];
}

/** Effects that are remembered as asked about. */
const askedLength = 32;

/** What the next reply's calls are compared with. */
function withNewestCall(guard: GuardState, calls: readonly ToolCallProgress[]): GuardState {
  const asked = calls
    .filter((call) => wasAskedAbout(call, guard))
    .map(({ call }) => exactCall(call));
  const last = calls.at(-1);
  const worked =
    last?.status.type === 'settled' && last.status.ran && last.status.error === undefined;
  return {
    ...without(guard, 'newestCall'),
    ...defined({ newestCall: worked ? exactCall(last.call) : undefined }),
    ...(asked.length === 0
      ? {}
      : { askedAbout: [...(guard.askedAbout ?? []), ...asked].slice(-askedLength) }),
  };
}

function withoutEvidence(guard: GuardState): GuardState {
  return { ...without(without(guard, 'waited'), 'warnedLoop'), evidence: [] };
}

/** The guard's record after the settled calls of one reply. */
function recordReply(
  guard: GuardState,
  calls: readonly ToolCallProgress[],
  reply: number,
): GuardState {
  if (calls.some(breaksLoop)) return withoutEvidence(guard);
  const waits = guard.waited === true || calls.some(({ call }) => call.alike?.idle === 'waits');
  const fresh = calls.flatMap((call) => evidenceOf(call, reply, guard));
  if (fresh.length === 0) return waits ? { ...guard, waited: true } : guard;
  const spaced = waits ? fresh.map((call): CallEvidence => ({ ...call, waited: true })) : fresh;
  return { ...without(guard, 'waited'), evidence: addEvidence(guard.evidence, spaced) };
}

/** Forgets the evidence, because recovery or a person acted. */
export function forgetLoop<State extends GuardSlice>(state: State): State {
  return { ...state, guard: withoutEvidence(state.guard) };
}

function loopText({ period, repeats, description }: DetectedLoop): string {
  return period === 1
    ? `${repeats} times in a row: ${description}`
    : `the same ${period} steps ${repeats} times in a row: ${description}`;
}

function warning(loop: DetectedLoop): string {
  return [
    noteProvenance,
    `You are repeating yourself, ${inertLine(loopText(loop))}.`,
    'A further round brings nothing new and will end the run. Use what you already know, or do something different.',
  ].join('\n');
}

type Watched = GuardSlice & SnapshotSlice & CountersSlice;

/** Records the settled calls of a reply, and warns the model once of each loop, a round before it ends the run (R-GUARD-12). */
export function watchForLoops<State extends Watched & NextRequestSlice>(
  state: State,
  calls: readonly ToolCallProgress[],
): Move<State> {
  const { maxSameCalls } = prepared(state).snapshot.limits;
  const recorded = recordReply(state.guard, calls, state.counters.iterations);
  const { warnedLoop, ...guard } = withNewestCall(recorded, calls);
  const loop = findLoop(guard.evidence, Math.max(maxSameCalls - 1, 2));
  if (loop === undefined) return stay({ ...state, guard });
  const watched: State = { ...state, guard: { ...guard, warnedLoop: loop.identity } };
  if (warnedLoop === loop.identity) return stay(watched);
  return stay(
    addTroubleNote(watched, warning(loop)),
    publish({ type: 'GuardWarnedEvent', message: `loop: ${loopText(loop)}` }),
  );
}

/**
 * Why a run that repeats its loop must end; undefined if it may continue.
 *
 * Contract: a single failing call that repeats is left to the circuit breaker, which sees it after as many rounds.
 * Source: R-GUARD-5, R-GUARD-11.
 */
export function loopStop(state: Watched): Stop | undefined {
  const { limits } = prepared(state).snapshot;
  const loop = findLoop(state.guard.evidence, limits.maxSameCalls);
  if (loop === undefined) return undefined;
  if (loop.fails && loop.period === 1 && loop.repeats <= ringSize) return undefined;
  return forcedStop(state, 'guard_loop', `detected a tool loop, ${loopText(loop)}`);
}
