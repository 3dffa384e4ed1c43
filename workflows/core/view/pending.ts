/** What waits for a person: the answer of the query `pending`. */
import type { JsonObject } from '../json';
import { defined } from '../json';
import { digestOf, policyOf } from '../people/decision-wait';
import { escalationQuestionId } from '../people/state';
import type { RecoveryAction, RecoveryExpiry, RecoveryPolicy } from '../recovery/action';
import type { RecoveryStage } from '../recovery/state';
import { currentStage } from '../recovery/state';
import { actionSummary } from '../recovery/text';
import type { ShownArguments } from '../secrets/ports';
import { shownArguments, shownArgumentsChars } from '../secrets/shown-arguments';
import { redactShown, shownText } from '../secrets/shown-text';
import { startOf } from '../secrets/visible-text';
import type { SnapshotSlice } from '../run/ports';
import { waitingPhase } from '../run/waiting';
import type { ExpiryAction } from '../tools/ports';
import type { DecisionWait, ToolCallProgress } from '../tools/state';
import type { PhaseSlice } from '../run/phases';
import { callsOf } from '../tools/state';

/** One thing that waits for a person: an entry of the query `pending`. */
export type PendingItem =
  | ({
      readonly type: 'approval';
      readonly approvalId: string;
      readonly digest: string;
      readonly tool: string;
      readonly label?: string;
      /** The arguments as people read them: what to show to whoever decides. */
      readonly shown: ShownArguments;
      /** The input for programs, as it runs; absent if it is long or holds a secret. */
      readonly input?: unknown;
      /** Blob with the input, if it does not travel. */
      readonly inputBlob?: string;
      /** Parameters that the tool's schema marks privileged. */
      readonly privileged?: readonly string[];
      /** A decision is being checked: its signature, or the arguments that it changes. */
      readonly checkingEdit?: true;
      /** What recovery proposes; absent for a call of the model. */
      readonly proposal?: RecoveryAction;
      /** What follows a yes, and a no. */
      readonly ifApproved: string;
      readonly ifRejected: string;
    } & Limited)
  | ({
      readonly type: 'question';
      readonly questionId: string;
      readonly question: string;
      /** What recovery planned, with too little confidence to carry it out. */
      readonly proposal?: RecoveryAction;
    } & Limited);

/** The limit of a wait, if it has one. */
interface Limited {
  /** Milliseconds since the epoch at which the wait expires. */
  readonly expiresAtMs?: number;
  /** What happens then. */
  readonly onExpiry?: ExpiryAction | RecoveryExpiry;
  /** Nobody decided in time. It can still be decided. */
  readonly escalated?: true;
}

/** What the view of waits reads. */
export type PendingState = PhaseSlice & SnapshotSlice;

function limitOf(state: SnapshotSlice, progress: ToolCallProgress, wait: DecisionWait): Limited {
  const { expiry, escalated } = wait;
  const onExpiry = policyOf(state, progress)?.onExpiry;
  return defined({
    expiresAtMs: expiry?.atMs,
    onExpiry: expiry === undefined ? undefined : onExpiry,
    escalated,
  });
}

/** The arguments as the activity rendered them; a call of an earlier version has only its input. */
function shownInput(
  shown: ShownArguments | undefined,
  input: JsonObject | undefined,
): ShownArguments {
  if (shown !== undefined) return shown;
  if (input === undefined) return { fields: [], isPart: true };
  return shownArguments(input, { redact: redactShown, maxChars: shownArgumentsChars });
}

function callItem(state: SnapshotSlice, progress: ToolCallProgress): PendingItem[] {
  const { call, status } = progress;
  switch (status.type) {
    case 'awaiting-approval':
    case 'checking-edit':
      return [
        {
          type: 'approval',
          approvalId: call.toolCallId,
          digest: digestOf(call),
          tool: call.name,
          shown: shownInput(call.shown, call.input),
          ...defined({
            label: call.label,
            input: call.input,
            inputBlob: call.inputBlob,
            privileged: call.privileged?.parameters.map(({ name }) => name),
          }),
          ...(status.type === 'checking-edit' ? { checkingEdit: true } : {}),
          ifApproved: 'The call runs, once, with exactly these arguments.',
          ifRejected: 'It does not run; the model reads the reason and goes on.',
          ...limitOf(state, progress, status),
        },
      ];
    case 'awaiting-answer':
      return [
        {
          type: 'question',
          questionId: call.toolCallId,
          question: status.question,
          ...limitOf(state, progress, status),
        },
      ];
    case 'ready':
    case 'running':
    case 'delegated':
    case 'paused':
    case 'settled':
      return [];
  }
}

/** Characters of the label of what recovery proposes, as of a call's. */
const labelChars = 80;

/** Characters of a proposal's texts, as people see them. */
const proposalChars = 400;

/** A planner's words are made from tool output, and people see no secrets. */
function shownAction(action: RecoveryAction): RecoveryAction {
  return {
    ...action,
    reasoning: shownText(action.reasoning, proposalChars),
    expectedOutcome: shownText(action.expectedOutcome, proposalChars),
  };
}

function afterYes(strategy: RecoveryAction['strategy'], hasCall: boolean): string {
  if (strategy === 'give-up') return 'The run ends as failed (gave_up), with what worked.';
  return hasCall
    ? 'The runtime makes this call, if its effect can be undone; else the model reads it as advice.'
    : 'The model reads it as advice with its next call.';
}

/** What recovery asks of a person. */
function recoveryItems(
  stage: RecoveryStage,
  policy: RecoveryPolicy | undefined,
): readonly PendingItem[] {
  const limit: Limited =
    'untilMs' in stage
      ? { expiresAtMs: stage.untilMs, ...defined({ onExpiry: policy?.onExpiry }) }
      : {};
  switch (stage.type) {
    case 'planning':
    case 'backing-off':
      return [];
    case 'escalated':
      return [
        {
          type: 'question',
          questionId: stage.questionId,
          question: stage.question,
          ...(stage.planned === undefined ? {} : { proposal: shownAction(stage.planned) }),
          ...limit,
        },
      ];
    case 'asking': {
      const { action, digest, call } = stage.plan;
      const { toolName, parameters } = action.action;
      return [
        {
          type: 'approval',
          approvalId: stage.approvalId,
          digest,
          tool: toolName === '' ? action.strategy : toolName,
          label: startOf(`recovery: ${actionSummary(action)}`, labelChars),
          shown: shownInput(call?.shown, parameters ?? {}),
          ...defined({ input: call?.input, inputBlob: call?.inputBlob }),
          proposal: shownAction(action),
          ifApproved: afterYes(action.strategy, call !== undefined),
          ifRejected: 'It is not done; the model reads the reason and looks for another way.',
          ...limit,
        },
      ];
    }
  }
}

/** Everything that waits for a person. */
export function pendingItems(state: PendingState): readonly PendingItem[] {
  const stage = currentStage(state);
  if (stage !== undefined) return recoveryItems(stage, state.snapshot?.recovery);
  const wait = waitingPhase(state);
  if (wait?.on === 'person')
    return [{ type: 'question', questionId: escalationQuestionId, question: wait.reason }];
  return callsOf(state).flatMap((call) => callItem(state, call));
}
