/** People's texts where people read them: a secret that is meant for the model is not meant for lists, pages and chats. */
import type { RunEvent } from '../run/protocol';
import type { RunState } from '../run/state';
import { stripHidden } from '../secrets/hidden-characters';
import { redactText } from '../secrets/redact';

/** Characters read beyond what is shown, so that no secret is cut in two before it is recognised: a private key has some 3,000. */
const marginChars = 4_096;

/**
 * What every secret has about it that the rules know: a long unbroken piece, or a word that names one. A text with neither is
 * not read by some 300 rules, whose first use takes 10 ms of a workflow's start.
 */
const mayHoldSecret =
  /[\w+/=~.-]{16}|:\/\/|pass|pwd|secret|token|key|auth|bearer|cookie|credential/i;

/**
 * The beginning of a text as it may be shown: without secrets and hidden characters.
 *
 * Contract: pure; for displays alone (status, attributes, details, summaries, timeline, questions, notices), never for what the
 * model reads. Doing it twice changes nothing more.
 */
export function shownText(text: string, maxChars: number): string {
  const visible = stripHidden(text.slice(0, maxChars + marginChars));
  return (mayHoldSecret.test(visible) ? redactText(visible) : visible).slice(0, maxChars);
}

/** Characters of the goal that any display takes. */
const goalChars = 1_000;

/** The state's own record of a goal that must not be shown as it is; nothing where it may. */
export function shownGoalOf(goal: string): Pick<RunState, 'shownGoal'> {
  const head = goal.slice(0, goalChars);
  const shown = shownText(goal, goalChars);
  return shown === head ? {} : { shownGoal: shown };
}

/** The head of a run's goal, for people. */
export function goalForPeople({ shownGoal, request }: RunState, maxChars: number): string {
  return (shownGoal ?? request.goal).slice(0, maxChars);
}

/** The event with why a person ends a run or takes it over as people may read it; no model does. */
export function withShownReason(event: RunEvent): RunEvent {
  const isWhy =
    event.type === 'escalation-requested' ||
    event.type === 'stop-requested' ||
    event.type === 'cancel-requested';
  return isWhy ? { ...event, reason: shownText(event.reason, event.reason.length) } : event;
}
