/** Finds loops: the same calls with the same results, again and again. What brings something new is never one. */
import { shortHash } from '../errors/fingerprint';
import type { CallEvidence } from './state';

/** A loop that is going on. */
export interface DetectedLoop {
  /** Calls, or whole replies with parallel calls, that one round of the loop takes. */
  readonly period: number;
  /** Rounds in a row. Rounds that the model spaced with waits weigh a fifth, those alike only in their gist a third. */
  readonly repeats: number;
  /** In words, from names, labels and error codes only: `read_file a.ts (same result), then …`. */
  readonly description: string;
  /** The same for every round of this loop; distinguishes it from another loop. */
  readonly identity: string;
  /** Every call of it fails. */
  readonly fails: boolean;
}

/** Longest period of a loop (R-PROG-3). */
export const maxLoopPeriod = 6;

/** Rounds from which a repetition is a loop (R-PROG-3). */
const loopRepeats = 3;

/** Rounds that weigh as one where only the gist is the same, and where the model waits between them (ADR 0019). */
const gistRounds = 3;
const waitedRounds = 5;

/** Share of equal lines from which a moved window shows nothing new (ADR 0019). */
const overlapShare = 0.65;

/** Pieces of evidence that are kept: enough for 16 rounds of the longest period. */
const evidenceLength = 96;

/** Calls of one reply up to which each is a piece of evidence; a larger reply is one piece. */
const callsApart = 12;

/** Estimated share of lines that two results have in common (bottom-k sketch). */
function overlap(one: readonly string[], other: readonly string[]): number {
  const size = Math.min(one.length, other.length);
  if (size === 0) return 0;
  const lowest = [...new Set([...one, ...other])].sort().slice(0, size);
  const shared = lowest.filter((hash) => one.includes(hash) && other.includes(hash));
  return shared.length / lowest.length;
}

type SameCall = (one: CallEvidence, other: CallEvidence) => boolean;

function areAlike(
  one: CallEvidence,
  other: CallEvidence,
  by: 'window' | 'gist' | 'target',
): boolean {
  const identity = one.alike?.[by];
  return identity !== undefined && identity === other.alike?.[by];
}

/** Alike beyond doubt: same call and result, a moved window that shows nothing new, or one more failure at the same target. */
const sameCall: SameCall = (one, other) => {
  const sameResult = one.result === other.result;
  if (one.call === other.call) return sameResult;
  if (areAlike(one, other, 'window'))
    return sameResult || overlap(one.sketch ?? [], other.sketch ?? []) >= overlapShare;
  return sameResult && one.failed !== undefined && areAlike(one, other, 'target');
};

const sameGist: SameCall = (one, other) =>
  sameCall(one, other) || (one.result === other.result && areAlike(one, other, 'gist'));

/** Whether two rounds contain the same calls, in any order. */
function sameRound(
  one: readonly CallEvidence[],
  other: readonly CallEvidence[],
  same: SameCall,
): boolean {
  if (one.length !== other.length) return false;
  const rest = [...other];
  return one.every((call) => {
    const place = rest.findIndex((candidate) => same(call, candidate));
    if (place >= 0) rest.splice(place, 1);
    return place >= 0;
  });
}

interface Rounds {
  readonly count: number;
  readonly last: readonly CallEvidence[];
}

/** Evidence in units: calls, or replies with all their calls. */
interface Units {
  readonly length: number;
  /** The calls of the units in a range. */
  readonly slice: (start: number, end: number) => readonly CallEvidence[];
}

/** Rounds of `period` units in a row at the end, each like the one after it. */
function roundsAtEnd(units: Units, period: number, same: SameCall): Rounds {
  const last = units.slice(units.length - period, units.length);
  let count = 1;
  let later = last;
  for (let end = units.length - period; end >= period; end -= period) {
    const earlier = units.slice(end - period, end);
    if (!sameRound(earlier, later, same)) break;
    later = earlier;
    count += 1;
  }
  return { count, last };
}

function weigh({ count, last }: Rounds, isGist: boolean): number {
  if (last.some((call) => call.waited === true)) return Math.floor(count / waitedRounds);
  return isGist ? Math.floor(count / gistRounds) : count;
}

/** Longest list of calls in a description. */
const describedCalls = 4;

function describe(calls: readonly CallEvidence[]): string {
  const lines = calls.map(
    ({ summary, failed }) => `${summary} (${failed === undefined ? 'same result' : failed})`,
  );
  const shown = [...new Set(lines)].slice(0, describedCalls);
  const more = new Set(lines).size - shown.length;
  return shown.join(', then ') + (more > 0 ? `, and ${more} more` : '');
}

function identityOf(calls: readonly CallEvidence[]): string {
  const parts = calls.map(
    ({ alike, failed, call }) => (failed === undefined ? alike?.window : alike?.target) ?? call,
  );
  return shortHash([...new Set(parts)].sort().join(' '));
}

function repliesOf(evidence: readonly CallEvidence[]): Units {
  const replies: CallEvidence[][] = [];
  for (const call of evidence) {
    const last = replies.at(-1);
    if (last?.[0]?.reply === call.reply) last.push(call);
    else replies.push([call]);
  }
  return {
    length: replies.length,
    slice: (start, end) => replies.slice(start, end).flat(),
  };
}

/**
 * The loop that the newest evidence is part of, if any.
 *
 * Contract: pure; `repeats` of the result is at least `atLeast`. Of several readings the one with most rounds wins, then the
 * shortest.
 * Source: R-PROG-3, R-GUARD-5, R-GUARD-11.
 */
export function findLoop(
  evidence: readonly CallEvidence[],
  atLeast: number = loopRepeats,
): DetectedLoop | undefined {
  const replies = repliesOf(evidence);
  let best: DetectedLoop | undefined;
  for (const units of replies.length < evidence.length ? [evidence, replies] : [evidence])
    for (let period = 1; period <= Math.min(maxLoopPeriod, units.length); period += 1)
      for (const [same, isGist] of [[sameCall, false] as const, [sameGist, true] as const]) {
        const rounds = roundsAtEnd(units, period, same);
        const repeats = weigh(rounds, isGist);
        if (repeats < atLeast || repeats <= (best?.repeats ?? 0)) continue;
        best = {
          period,
          repeats,
          description: describe(rounds.last),
          identity: identityOf(rounds.last),
          fails: rounds.last.every((call) => call.failed !== undefined),
        };
      }
  return best;
}

function asOnePiece(calls: readonly CallEvidence[]): readonly CallEvidence[] {
  const [first] = calls;
  if (first === undefined || calls.length <= callsApart) return calls;
  const sorted = (parts: readonly string[]): string => shortHash([...parts].sort().join(' '));
  return [
    {
      call: sorted(calls.map(({ call }) => call)),
      result: sorted(calls.map(({ call, result }) => `${call} ${result}`)),
      summary: `${calls.length} calls at once, first ${first.summary}`,
      reply: first.reply,
    },
  ];
}

/** Adds the calls of one reply: equal ones count once, since a reply that asks twice repeats nothing yet. */
export function addEvidence(
  evidence: readonly CallEvidence[],
  calls: readonly CallEvidence[],
): readonly CallEvidence[] {
  const distinct = calls.filter(
    (call, index) => !calls.slice(0, index).some((earlier) => sameCall(earlier, call)),
  );
  return [...evidence, ...asOnePiece(distinct)].slice(-evidenceLength);
}
