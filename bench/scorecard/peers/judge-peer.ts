/** One judge for every engine: how a run ended, what its service holds, and how often its vendor was asked. */
import type { StagedDrawn } from '../conversation/stage-drawn';
import { rightOf } from '../conversation/judge-drawn';
import { goodAnswer } from '../provider/provider-fault';

/** How a run ended, for any engine. */
export type PeerEnd =
  | { readonly status: 'completed'; readonly answer: string }
  | { readonly status: 'failed'; readonly message: string }
  /** It was still trying at the deadline. */
  | { readonly status: 'went on' };

/** What came of a fault. */
export type PeerVerdict =
  /** The answer came, each effect happened once, and no request was sent beyond those that the fault needs. */
  | 'recovered'
  /** The same, with more requests. */
  | 'recovered at a price'
  /** The run ended with its cause, and sent nothing after it that could not help. */
  | 'stopped'
  /** The same, after requests that could not help. */
  | 'stopped late'
  | 'went on'
  /** An answer without its effects, or an effect twice. */
  | 'wrong';

/** A verdict with what it rests on. */
export interface JudgedPeer {
  readonly id: string;
  readonly right: 'recovers' | 'stops';
  readonly verdict: PeerVerdict;
  /** Requests beyond those of the same run without the fault, or before it. */
  readonly addedCalls: number;
  readonly said: string;
}

function isWrong({ fault, ledger }: StagedDrawn, end: PeerEnd): boolean {
  const isDoubled = [...ledger.values()].some((keys) => keys.size > 1 && fault.effect !== 'read');
  if (isDoubled) return true;
  if (end.status !== 'completed') return false;
  const items = fault.batches.reduce((sum, size) => sum + size, 0);
  return end.answer !== goodAnswer || ledger.size < items;
}

/** Judges a run. Contract: pure; the same rule for every engine (R-SCORE-1). */
export function judgePeer(staged: StagedDrawn, end: PeerEnd, calls: number): JudgedPeer {
  const { fault } = staged;
  const right = rightOf(fault);
  const before = fault.strike.type === 'tool' ? fault.place + 1 : fault.place;
  const isWhole = end.status === 'completed';
  const addedCalls = calls - (isWhole ? fault.batches.length + 1 : before);
  const verdict = (): PeerVerdict => {
    if (isWrong(staged, end)) return 'wrong';
    if (end.status === 'went on') return 'went on';
    if (isWhole) return addedCalls <= right.calls ? 'recovered' : 'recovered at a price';
    return addedCalls <= right.calls ? 'stopped' : 'stopped late';
  };
  const said = 'message' in end ? end.message : 'answer' in end ? end.answer : '';
  return {
    id: fault.id,
    right: right.type,
    verdict: verdict(),
    addedCalls,
    said: said.slice(0, 300),
  };
}
