/** The slices of people: decisions that took effect, texts that wait for the model, and a run that a person takes over. */
import type { Attachment, Said } from '../message';
import { shortHash } from '../errors/fingerprint';
import type { JsonObject } from '../json';
import { defined } from '../json';

/** One decision that took effect. */
export interface DecisionMade {
  /** Id of the approval or the question. */
  readonly id: string;
  /** Digest of the action decided on. Absent for answers. */
  readonly digest?: string;
  /**
   * Identity of the decision: `approve`, `reject`, `edit:<hash>`, `answer:<hash>`, `expired`. Signed ones have the hash of their
   * signature.
   */
  readonly decision: string;
  /** Absent if the person gave no name. */
  readonly by?: string;
  readonly atMs: number;
}

/** Changed arguments that cannot run. */
interface RefusedEdit {
  readonly id: string;
  readonly decision: string;
  readonly problems: string;
}

/** The slice of decisions on approvals. */
export interface ApprovalsSlice {
  readonly approvals: ApprovalsState;
}

/** Decisions of a run, and what people must be asked for. */
export interface ApprovalsState {
  /** Newest last, bounded. */
  readonly made: readonly DecisionMade[];
  /** Newest last, bounded: the answers of updates that wait for them. */
  readonly refusedEdits: readonly RefusedEdit[];
  /** An error occurred: new privileged parameters need approval. */
  readonly afterError: boolean;
  /** Privileged parameters with their values that were seen or approved, newest last, bounded. */
  readonly privilegedSeen: readonly string[];
}

/** The timer that shows a wait without a limit in Temporal's timeline. */
export interface WaitMark {
  readonly timerId: string;
  /** Ids of what waits. */
  readonly about: string;
}

/** The slice of what people want of a run, beside decisions on approvals. */
export interface PeopleSlice extends ApprovalsSlice {
  /** People's texts that wait for the next model call. */
  readonly inbox: readonly Said[];
  /** Beginnings, as people may read them, of texts that joined the transcript and that no model has read yet. */
  readonly unread?: readonly string[];
  /** Why a person takes the run over; honored at the start of the next iteration. */
  readonly escalation?: string;
  readonly waitMark?: WaitMark;
}

/** Nothing said, nothing decided. */
export const initialPeople: PeopleSlice = {
  approvals: { made: [], refusedEdits: [], afterError: false, privilegedSeen: [] },
  inbox: [],
};

/** Id of the question that an escalated run asks. */
export const escalationQuestionId = 'escalation';

/** Decisions that a run remembers: as many calls as one reply may ask for (ADR 0022). */
const rememberedDecisions = 64;
/** Refused edits that a run remembers; each is read by an update that waits for it (ADR 0022). */
const rememberedRefusals = 8;
/** Characters of a name in a decision (ADR 0022). */
const nameChars = 100;

/** Identity of a decision on an approval. That of a signed one is its signature: only the same decision by the same key has it. */
export function decisionKey({
  decision,
  input,
  signature,
}: {
  readonly decision: 'approve' | 'reject';
  readonly input?: JsonObject;
  readonly signature?: string;
}): string {
  const kind = input === undefined ? decision : 'edit';
  if (signature !== undefined) return `${kind}:${shortHash(signature)}`;
  return input === undefined ? kind : `edit:${shortHash(JSON.stringify(input))}`;
}

/** An answer, with what it names. */
export interface Answered {
  readonly answer: string;
  readonly attachments?: readonly Attachment[];
}

/** Identity of an answer. */
export function answerKey({ answer, attachments }: Answered): string {
  const refs = (attachments ?? []).map(({ ref }) => ref);
  return `answer:${shortHash([answer, ...refs].join('\n'))}`;
}

/** Records a decision that took effect. */
export function recordDecision<State extends ApprovalsSlice>(
  state: State,
  { by, ...rest }: Omit<DecisionMade, 'by'> & { readonly by?: string | undefined },
): State {
  const record: DecisionMade = { ...rest, ...defined({ by: by?.slice(0, nameChars) }) };
  const made = [...state.approvals.made, record].slice(-rememberedDecisions);
  return { ...state, approvals: { ...state.approvals, made } };
}

/** Records why an edit cannot run. */
export function recordRefusedEdit<State extends ApprovalsSlice>(
  state: State,
  refused: RefusedEdit,
): State {
  const refusedEdits = [...state.approvals.refusedEdits, refused].slice(-rememberedRefusals);
  return { ...state, approvals: { ...state.approvals, refusedEdits } };
}

/** The newest decision on this approval or question. */
export function decisionOn(approvals: ApprovalsState, id: string): DecisionMade | undefined {
  return approvals.made.findLast((made) => made.id === id);
}

/** A decision in words: `approved by Ada`. */
export function decisionText({ decision, by }: DecisionMade): string {
  const [kind = ''] = decision.split(':');
  const words: { readonly [kind: string]: string } = {
    approve: 'approved',
    reject: 'rejected',
    edit: 'approved with changed arguments',
    answer: 'answered',
    expired: 'closed because nobody decided in time',
  };
  const what = Object.hasOwn(words, kind) ? (words[kind] ?? kind) : kind;
  return by === undefined ? what : `${what} by ${by}`;
}

/** An error occurred: from now on new privileged parameters need approval. */
export function requireNewPrivileges<State extends ApprovalsSlice>(state: State): State {
  return { ...state, approvals: { ...state.approvals, afterError: true } };
}

/** Records an answer, so that a repeated one counts once. */
export function recordAnswer<State extends ApprovalsSlice>(
  state: State,
  id: string,
  { by, ...answer }: Answered & { readonly by?: string },
  atMs: number,
): State {
  return recordDecision(state, { id, decision: answerKey(answer), by, atMs });
}
