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
  readonly isLost: boolean;
  readonly isUndecided: boolean;
  readonly wrong?: string;
}

/** Whether nobody can know what became of it: the effect may have happened, and the tool has neither key nor probe. */
function mayBeUnknown({ tool, points }: PlannedCall): boolean {
  const isIrreversible = tool === 'irreversible' || tool === 'ask';
  const harmless: readonly KillPoint[] = ['before-intent', 'after-outcome'];
  return isIrreversible && points.some((point) => !harmless.includes(point));
}

function isTrue(call: PlannedCall, reported: Reported, applied: number): boolean {
  switch (reported.type) {
    case 'done':
      return call.tool === 'read' || applied === 1;
    case 'failed':
    case 'nothing':
      return false;
    case 'unknown':
      return call.tool === 'irreversible' && mayBeUnknown(call);
    case 'person':
      return call.tool === 'ask' && mayBeUnknown(call);
  }
}

/** Judges one call. */
export function judgeCall(
  call: PlannedCall,
  reported: Reported,
  ledger: readonly LedgerEntry[],
  kills: readonly KillPoint[],
): CallVerdict {
  const entries = ledger.filter((entry) => entry.callId === call.id);
  const isDuplicate = entries.length > 1;
  const isKept = call.tool === 'keyed' || call.tool === 'reconcilable';
  const isLost = isKept && reported.type === 'done' && entries.length === 0;
  const isUndecided = reported.type === 'nothing' || reported.type === 'failed';
  const wasKilled = kills.join() === call.points.join();
  const isRight = isTrue(call, reported, entries.length) && !isDuplicate && wasKilled;
  const got = [
    `reported ${reported.type}`,
    `applied ${entries.length} times`,
    `killed at ${kills.join(', ') || 'no point'}`,
    ...(reported.type === 'failed' ? [reported.content] : []),
    ...(reported.type === 'nothing' ? [reported.why] : []),
  ].join('; ');
  return {
    callId: call.id,
    isDuplicate,
    isLost,
    isUndecided,
    ...(isRight ? {} : { wrong: got }),
  };
}
