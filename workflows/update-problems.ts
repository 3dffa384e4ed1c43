/** What is wrong with an update, before it enters history: its shape, its size, and whether it can apply. */
import { updateNames } from './contract';
import { editedInputChars, editedInputDepth, personTextChars } from './core/limits';
import { rejectDecision, rejectAnswer } from './core/run/people-input';
import { readAttachments } from './core/attachments';
import type { RunState } from './core/run/state';
import { eventOfUpdate, field, noAttachments, signatureChars } from './people-events';

/** Characters of an id or a digest. */
const idChars = 200;

function problemOfText(
  argument: unknown,
  update: string,
  name: string,
  maxChars: number,
): string | undefined {
  const value = field(argument, name);
  if (typeof value !== 'string' || value === '')
    return `${update}: "${name}" must be a non-empty text, got ${typeof value}.`;
  if (value.length > maxChars)
    return `${update}: "${name}" has ${value.length} characters; at most ${maxChars} are allowed.`;
  return undefined;
}

function valuesIn(item: unknown): readonly unknown[] {
  if (typeof item !== 'object' || item === null) return [];
  return Object.values({ ...item });
}

/** Whether JSON has at most this many levels; iterative, since the input is untrusted. */
function isWithinDepth(value: unknown, maxDepth: number): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return false;
    level = level.flatMap(valuesIn);
  }
  return true;
}

function problemOfInput(argument: unknown): string | undefined {
  const name = updateNames.resolveApproval;
  const input = field(argument, 'input');
  if (input === undefined) return undefined;
  if (field(argument, 'decision') !== 'approve')
    return `${name}: "input" goes with "approve" only.`;
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return `${name}: "input" must be a JSON object with all the arguments of the call.`;
  if (!isWithinDepth(input, editedInputDepth))
    return `${name}: "input" has more than ${editedInputDepth} levels.`;
  const chars = JSON.stringify(input).length;
  if (chars > editedInputChars)
    return `${name}: "input" has ${chars} characters of JSON; at most ${editedInputChars} are allowed. Put long material into a file of the workspace.`;
  return undefined;
}

/** What the workflow can see of a signature: an activity verifies it. */
function problemOfSignature(state: RunState, argument: unknown): string | undefined {
  const name = updateNames.resolveApproval;
  const signature = field(argument, 'signature');
  if (signature === undefined)
    return state.snapshot?.approvers === undefined
      ? undefined
      : `${name}: this run takes signed decisions only, and this one has no signature. Decide with the private key of one of its approvers: set HOLDFAST_APPROVAL_KEY to its file for \`holdfast approve\`, or give \`approvalKey\` to the client.`;
  const isSignature =
    typeof signature === 'string' &&
    signature.length === signatureChars &&
    /^[\w-]+$/.test(signature);
  return isSignature
    ? undefined
    : `${name}: "signature" must be an Ed25519 signature in base64url (${signatureChars} characters).`;
}

/** What is wrong with a decision on an approval, for the sender; undefined if nothing is. */
export function problemOfDecision(state: RunState, argument: unknown): string | undefined {
  const name = updateNames.resolveApproval;
  const decision = field(argument, 'decision');
  const shape =
    problemOfText(argument, name, 'approvalId', idChars) ??
    problemOfText(argument, name, 'decision', idChars) ??
    (decision === 'approve' || decision === 'reject'
      ? undefined
      : `${name}: "decision" must be "approve" or "reject", got "${String(decision)}".`) ??
    problemOfText(argument, name, 'digest', idChars) ??
    problemOfInput(argument) ??
    problemOfSignature(state, argument);
  const event = eventOfUpdate(name, argument);
  const digest = field(argument, 'digest');
  if (shape !== undefined || event?.type !== 'approval-resolved' || typeof digest !== 'string')
    return shape;
  return rejectDecision(state, { ...event, digest });
}

/** What is wrong with an answer, for the sender; undefined if nothing is. */
export function problemOfAnswer(state: RunState, argument: unknown): string | undefined {
  const name = updateNames.answer;
  const shape =
    problemOfText(argument, name, 'questionId', idChars) ??
    problemOfText(argument, name, 'answer', personTextChars) ??
    (readAttachments(field(argument, 'attachments')) === undefined
      ? `${name}: ${noAttachments}.`
      : undefined);
  const event = eventOfUpdate(name, argument);
  if (shape !== undefined || event?.type !== 'question-answered') return shape;
  return rejectAnswer(state, event);
}
