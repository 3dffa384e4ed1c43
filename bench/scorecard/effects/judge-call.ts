/** Judges the outcome of a call: what was reported to the model or a person, compared with the bank's ledger. */
import type { LedgerEntry } from './bank';
import type { KillPoint, PlannedCall } from './kill-plan';

/** What the model reads of a call in the end. */
export type Reported =
  | { readonly type: 'done' }
  | { readonly type: 'unknown' }
  /** A person was asked with evidence, and answered. */
  | { readonly type: 'person' }
  | { readonly type: 'failed'; readonly content: string }
  /** The run has not ended in time, or has no result for the call. */
  | { readonly type: 'nothing'; readonly why: string };

/** What is wrong with a call, by the bar's words; undefined where all is right. */
export interface CallVerdict {
  readonly callId: string;
  readonly isDuplicate: boolean;
  /** Repeated after its worker stalled inside the tool, before the request: counted apart (ADR 0031). */
  readonly isInWindow: boolean;
  readonly isLost: boolean;
  readonly isUndecided: boolean;
  readonly wrong?: string;
}

/** Whether nobody can know what became of it: the effect may have happened, and the tool has neither key nor probe. */
function mayBeUnknown({ tool, points, fault }: PlannedCall, applied: number): boolean {
  const isIrreversible = tool === 'irreversible' || tool === 'ask';
  if (!isIrreversible || fault === 'slow') return false;
  // Nobody started it: it is run, and its outcome known.
  const harmless: readonly KillPoint[] = ['before-intent', 'after-intent', 'after-outcome'];
  // It was reported as unknown and not repeated: an attempt that wakes up later must not start it.
  if (points.every((point) => point === 'executing')) return applied === 0;
  return points.some((point) => !harmless.includes(point));
}

/** Whether the call stalled in the one place where a store cannot hinder it from being done beside its repeat. */
function isWindow({ tool, points, fault }: PlannedCall): boolean {
  return fault === 'stall' && tool === 'reconcilable' && points.join() === 'started';
}

/** Points where a first run was ended and its record does not say whether the effect happened. */
const openPoints: readonly KillPoint[] = [
  'after-intent',
  'executing',
  'started',
  'request-dropped',
  'request-applied',
  'applied',
  'answered',
  'before-outcome',
];

/** Whether a fork or a continued run was told the truth about the first run: keyed effects happened once; about the others, what can be known. */
function isTrueOfFork(
  { tool, points: [point = 'started'], fault }: PlannedCall,
  { type }: Reported,
  applied: number,
): boolean {
  const isOpen = fault === 'continue' && openPoints.includes(point);
  const wasDone = fault === 'fork' || point !== 'before-intent';
  const isDone = type === 'done' && applied === 1;
  switch (tool) {
    case 'read':
    case 'keyed':
      return isDone;
    case 'reconcilable':
      return isDone || (isOpen && applied === 0 && type === 'unknown');
    case 'irreversible':
      return isOpen ? type === 'unknown' : isDone;
    case 'ask':
      return wasDone ? type === 'person' : isDone;
  }
}

function isTrue(call: PlannedCall, reported: Reported, applied: number): boolean {
  if (call.fault === 'fork' || call.fault === 'continue')
    return isTrueOfFork(call, reported, applied);
  switch (reported.type) {
    case 'done':
      return call.tool === 'read' || applied === 1 || (isWindow(call) && applied === 2);
    case 'failed':
    case 'nothing':
      return false;
    case 'unknown':
      return call.tool === 'irreversible' && mayBeUnknown(call, applied);
    case 'person':
      return call.tool === 'ask' && mayBeUnknown(call, applied);
  }
}

/** Whether the call can be brought to its known end without a person and without a guess of the model (R-SCORE-1). */
export function isRecoverable(call: PlannedCall): boolean {
  const { tool, points, fault } = call;
  if (fault === 'kill' || fault === 'stall' || fault === 'slow') return !mayBeUnknown(call, 0);
  const isOpen = fault === 'continue' && openPoints.includes(points[0] ?? 'started');
  const wasDone = fault === 'fork' || points[0] !== 'before-intent';
  if (tool === 'ask') return !wasDone;
  return tool === 'read' || tool === 'keyed' || !isOpen;
}

/** What there was, for people. */
function gotOf(
  { fault }: PlannedCall,
  reported: Reported,
  applied: number,
  hits: readonly KillPoint[],
): string {
  return [
    `reported ${reported.type}`,
    `applied ${applied} times`,
    `${fault} at ${hits.join(', ') || 'no point'}`,
    ...(reported.type === 'failed' ? [reported.content] : []),
    ...(reported.type === 'nothing' ? [reported.why] : []),
  ].join('; ');
}

/** Judges one call. */
export function judgeCall(
  call: PlannedCall,
  reported: Reported,
  ledger: readonly LedgerEntry[],
  hits: readonly KillPoint[],
): CallVerdict {
  const entries = ledger.filter((entry) => entry.callId === (call.effectId ?? call.id));
  const isInWindow = isWindow(call) && entries.length === 2;
  const isDuplicate = entries.length > 1 && !isInWindow;
  const isKept = call.tool === 'keyed' || call.tool === 'reconcilable';
  const isLost = isKept && reported.type === 'done' && entries.length === 0;
  const isUndecided = reported.type === 'nothing' || reported.type === 'failed';
  const wasHit = hits.join() === call.points.join();
  const isRight = isTrue(call, reported, entries.length) && !isDuplicate && wasHit;
  const got = gotOf(call, reported, entries.length, hits);
  return {
    callId: call.id,
    isDuplicate,
    isInWindow,
    isLost,
    isUndecided,
    ...(isRight ? {} : { wrong: got }),
  };
}
