/** What became of a person's decision or answer, and whether one can still apply: for updates that wait for their result. */
import type { PhaseSlice } from '../run/phases';
import type { ToolCallProgress } from '../tools/state';
import { callsOf } from '../tools/state';
import { digestOf } from './decision-wait';
import type { ApprovalResolved } from './decisions';
import type { Answered, ApprovalsSlice, DecisionMade } from './state';
import { answerKey, decisionKey, decisionOn, decisionText } from './state';

/** What became of something that a person sent. */
export type Verdict =
  | { readonly type: 'accepted' }
  /** An activity checks it. */
  | { readonly type: 'undecided' }
  | { readonly type: 'refused'; readonly problem: string };

type Decisions = ApprovalsSlice & PhaseSlice;
type Decision = Pick<ApprovalResolved, 'approvalId' | 'decision' | 'input' | 'signature'>;

function callOf(state: PhaseSlice, id: string): ToolCallProgress | undefined {
  return callsOf(state).find(({ call }) => call.toolCallId === id);
}

function already(what: string, made: DecisionMade): Verdict {
  const problem = `${what} is no longer open: it was ${decisionText(made)} at ${String(made.atMs)} (ms since the epoch).`;
  return { type: 'refused', problem };
}

function beingChecked(id: string, by: string | undefined): Verdict {
  const who = by === undefined ? '' : ` by ${by}`;
  return {
    type: 'refused',
    problem: `A decision${who} on approval "${id}" is being checked. Decide again when that is done, if it still waits.`,
  };
}

/** What became of a decision that the core has taken, or would become of it where the call is not waiting. */
export function verdictOnDecision(state: Decisions, event: Decision): Verdict {
  const { approvalId: id } = event;
  const key = decisionKey(event);
  const status = callOf(state, id)?.status;
  if (status?.type === 'checking-edit')
    return status.decision === key ? { type: 'undecided' } : beingChecked(id, status.by);
  const made = decisionOn(state.approvals, id);
  if (made?.decision === key) return { type: 'accepted' };
  const refused = state.approvals.refusedEdits.findLast(
    (edit) => edit.id === id && edit.decision === key,
  );
  if (refused !== undefined) return { type: 'refused', problem: refused.problems };
  if (made !== undefined) return already(`Approval "${id}"`, made);
  return { type: 'refused', problem: `Approval "${id}" no longer waits.` };
}

/** What became of an answer that the core has taken. */
export function verdictOnAnswer(
  state: ApprovalsSlice,
  { questionId, ...answer }: Answered & { readonly questionId: string },
): Verdict {
  const made = decisionOn(state.approvals, questionId);
  if (made?.decision === answerKey(answer)) return { type: 'accepted' };
  if (made !== undefined) return already(`Question "${questionId}"`, made);
  return { type: 'refused', problem: `Question "${questionId}" no longer waits.` };
}

function problemOf(verdict: Verdict): string | undefined {
  return verdict.type === 'refused' ? verdict.problem : undefined;
}

/** Longest id of an approval or question in an answer. */
const idChars = 100;

function waitingIds(state: PhaseSlice): string {
  const ids = callsOf(state).flatMap(({ call, status }) =>
    status.type === 'awaiting-approval' ? [call.toolCallId] : [],
  );
  return ids.join(', ') || 'none';
}

/** The problem of a decision whose digest names another action than the one that waits. */
export function otherAction(approvalId: string): string {
  return `The digest does not belong to approval "${approvalId}": the action is not the one that was shown. Look at the pending action again.`;
}

/** Digest of the action that is open under this id, or was decided on. */
function knownDigest(
  state: Decisions,
  id: string,
  progress: ToolCallProgress | undefined,
): string | undefined {
  const status = progress?.status.type;
  const isOpen = status === 'awaiting-approval' || status === 'checking-edit';
  return progress !== undefined && isOpen
    ? digestOf(progress.call)
    : decisionOn(state.approvals, id)?.digest;
}

/** Why a decision on a call cannot apply, and what to do; undefined if it can, or was already made. */
export function problemOfCallDecision(
  state: Decisions,
  decision: Decision & { readonly digest: string },
): string | undefined {
  const { approvalId: id, digest } = decision;
  const progress = callOf(state, id);
  const known = knownDigest(state, id, progress);
  if (known === undefined)
    return `No approval "${id.slice(0, idChars)}" waits in this run. Waiting: ${waitingIds(state)}.`;
  if (known !== digest) return otherAction(id);
  if (progress?.status.type === 'awaiting-approval') return undefined;
  return problemOf(verdictOnDecision(state, decision));
}

/** Why an answer cannot apply, and what to do; undefined if it can, or was already given. */
export function problemOfAnswer(
  state: ApprovalsSlice,
  given: Answered & { readonly questionId: string },
  waiting: readonly string[],
): string | undefined {
  const { questionId } = given;
  if (waiting.includes(questionId)) return undefined;
  if (decisionOn(state.approvals, questionId) !== undefined)
    return problemOf(verdictOnAnswer(state, given));
  return `No question "${questionId.slice(0, idChars)}" waits in this run. Waiting: ${waiting.join(', ') || 'none'}.`;
}
