/** Compares what a fault did to a run with what its row declares as right. */
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import type { JudgedRow } from '../section';
import type { NeededCalls, ProviderFault, RightEnd } from './provider-fault';
import { goodAnswer } from './provider-fault';

/** What was seen of one row. */
export interface SeenFault {
  /** Absent: the run did not end in time. */
  readonly outcome?: RunOutcome;
  /** Faults whose strike the emulator confirms. */
  readonly landed: number;
  /** Requests at the end of the whole section. */
  readonly calls: NeededCalls;
  /** Of them, those that came after the run had ended. */
  readonly lateCalls: number;
  /** Requests that a strict vendor refuses, in its words. */
  readonly refusals: readonly string[];
  readonly toolRuns: readonly string[];
  /** Milliseconds between the first fault and the next request to its route. */
  readonly gapMs?: number;
}

/** A row's verdict. */
export interface Verdict {
  readonly row: JudgedRow;
  /** Requests beyond those that the row declares as needed. */
  readonly extraCalls: number;
}

/** The key of every route: a run's end must never hold it. */
export const scorecardKey = 'sk-scorecard-5f2c9be1d07a4386';

/** Characters of an end's message: two routes' failures of 500 each, and the sentence around them. */
const longestMessage = 1_200;

function callsText({ faulty, second }: NeededCalls): string {
  return `${faulty}+${second} calls`;
}

function codesText(codes: Readonly<Record<string, number>>): string {
  const entries = Object.entries(codes).sort(([left], [right]) => left.localeCompare(right));
  return entries.map(([code, times]) => `${code} x${times}`).join(', ');
}

function rightText(right: RightEnd): string {
  if (right.type === 'stops') return `stops: ${right.reason}`;
  return `heals by ${right.by}`;
}

function endText(outcome: RunOutcome | undefined): string {
  if (outcome === undefined) return 'did not end';
  const { healed } = outcome.report;
  switch (outcome.status) {
    case 'completed':
      return `completed, healed ${codesText(healed) || 'nothing'}`;
    case 'failed':
      return `failed: ${outcome.reason}: ${outcome.message.slice(0, 300)}`;
    case 'stopped':
    case 'cancelled':
      return `${outcome.status}: ${outcome.reason}`;
  }
}

function recoveryProblems(
  outcome: RunOutcome,
  right: Extract<RightEnd, { type: 'recovers' }>,
): readonly string[] {
  if (outcome.status !== 'completed') return ['the run did not complete'];
  const { healed, failovers } = outcome.report;
  const wantedFailovers = right.by === 'failover' ? 1 : 0;
  return [
    outcome.answer === goodAnswer ? undefined : `the answer was ${JSON.stringify(outcome.answer)}`,
    codesText(healed) === codesText(right.healed)
      ? undefined
      : `healed ${codesText(healed) || 'nothing'} instead of ${codesText(right.healed) || 'nothing'}`,
    failovers === wantedFailovers ? undefined : `${failovers} failovers`,
  ].filter((problem) => problem !== undefined);
}

function stopProblems(
  outcome: RunOutcome,
  right: Extract<RightEnd, { type: 'stops' }>,
): readonly string[] {
  if (outcome.status !== 'failed') return ['the run was not stopped'];
  const { message, reason } = outcome;
  return [
    reason === right.reason ? undefined : `the reason is ${reason}`,
    ...right.says.map((words) =>
      words.test(message) ? undefined : `the message does not say ${String(words)}`,
    ),
    /undefined|\[object|NaN/.test(message) ? 'the message is not readable' : undefined,
    message.length > longestMessage ? `the message has ${message.length} characters` : undefined,
  ].filter((problem) => problem !== undefined);
}

function endProblems(fault: ProviderFault, outcome: RunOutcome | undefined): readonly string[] {
  if (outcome === undefined) return [];
  const { right, forbids = [] } = fault;
  const serialized = JSON.stringify(outcome);
  const leaks = [scorecardKey, ...forbids]
    .filter((secret) => serialized.includes(secret))
    .map((secret) => `the end holds "${secret}"`);
  return [
    ...leaks,
    ...(right.type === 'recovers'
      ? recoveryProblems(outcome, right)
      : stopProblems(outcome, right)),
  ];
}

function landingProblem(fault: ProviderFault, seen: SeenFault): string | undefined {
  if (fault.landedWords !== undefined) {
    const serialized = JSON.stringify(seen.outcome ?? null);
    return fault.landedWords.test(serialized) ? undefined : 'nothing shows that the fault landed';
  }
  return seen.landed === fault.faults.length
    ? undefined
    : `${seen.landed} of ${fault.faults.length} faults landed`;
}

function callProblems(fault: ProviderFault, seen: SeenFault): readonly string[] {
  const { needed, gapMs } = fault;
  const sameCalls = seen.calls.faulty === needed.faulty && seen.calls.second === needed.second;
  const tooSoon = gapMs !== undefined && !(seen.gapMs !== undefined && seen.gapMs >= gapMs);
  return [
    sameCalls ? undefined : `${callsText(seen.calls)} instead of ${callsText(needed)}`,
    seen.lateCalls === 0 ? undefined : `${seen.lateCalls} calls after the end`,
    tooSoon ? `the next call came after ${seen.gapMs ?? 'no'} ms instead of ${gapMs}` : undefined,
    ...seen.refusals.map((words) => `a request was refused: ${words}`),
  ].filter((problem) => problem !== undefined);
}

function toolProblem(fault: ProviderFault, seen: SeenFault): string | undefined {
  const ran = JSON.stringify(seen.toolRuns);
  const allowed = JSON.stringify(fault.toolRuns);
  return ran === allowed ? undefined : `the tool ran with ${ran} instead of ${allowed}`;
}

/** Judges one row. Contract: pure; every way in which the row is wrong is named in `got`. */
export function judgeFault(fault: ProviderFault, seen: SeenFault): Verdict {
  const problems = [
    landingProblem(fault, seen),
    ...endProblems(fault, seen.outcome),
    ...callProblems(fault, seen),
    toolProblem(fault, seen),
  ].filter((problem) => problem !== undefined);
  const { faulty, second } = fault.needed;
  const expected = `${faulty}+${second} ${rightText(fault.right)}`;
  const extraCalls =
    Math.max(0, seen.calls.faulty - fault.needed.faulty) +
    Math.max(0, seen.calls.second - fault.needed.second);
  const isRight = seen.outcome !== undefined && problems.length === 0;
  const got = [endText(seen.outcome), ...problems].join('; ');
  return {
    row: {
      id: fault.id,
      expected,
      fault: { right: fault.right.type },
      ...(isRight ? {} : { wrong: { id: fault.id, expected, got } }),
    },
    extraCalls,
  };
}
