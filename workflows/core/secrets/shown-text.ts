/** Texts as people may read them: a secret that is meant for the model is not meant for lists, pages, and chats. */
import type { RequestSlice } from '../run/ports';
import { stripHidden } from './hidden-characters';
import { redactText } from './redact';
import { shortened } from '../shortened';

/** Characters read beyond what is shown, so that no secret is cut in two before it is recognized: a private key has some 3,000. */
const marginChars = 4_096;

/**
 * What every secret that the rules know has: a long unbroken piece, or a word that names a secret. A text with neither skips
 * the rules, some 300, whose first use takes 10 ms of a workflow's start.
 */
const mayHoldSecret =
  /[\w+/=~.-]{16}|:\/\/|pass|pwd|secret|token|key|auth|bearer|cookie|credential|identified|sudo|login|seed|otp|2fa|mfa|psk/i;

/**
 * The beginning of a text as it may be shown: without secrets and hidden characters, with a mark if it was cut.
 *
 * Contract: pure and idempotent; for displays only (status, attributes, details, summaries, timeline, questions, notices), never
 * for what the model reads.
 */
export function shownText(text: string, maxChars: number): string {
  const visible = stripHidden(text.slice(0, maxChars + marginChars));
  return shortened(redactShown(visible), maxChars);
}

/** The text without secrets. Contract: as `redactText`, and cheap for most texts. */
export function redactShown(text: string): string {
  return mayHoldSecret.test(text) ? redactText(text) : text;
}

/** Characters of the goal that any display takes. */
const goalChars = 1_000;

/** The slice of a run's goal. */
export interface GoalSlice extends RequestSlice {
  /** Head of the goal as people may read it; absent if the goal itself may be shown. */
  readonly shownGoal?: string;
}

/** The record of a goal that must not be shown as it is; nothing if it may. */
export function shownGoalOf(goal: string): Pick<GoalSlice, 'shownGoal'> {
  const head = shortened(goal, goalChars);
  const shown = shownText(goal, goalChars);
  return shown === head ? {} : { shownGoal: shown };
}

/** The head of a run's goal, for people. */
export function goalForPeople({ shownGoal, request }: GoalSlice, maxChars: number): string {
  return shortened(shownGoal ?? request.goal, maxChars);
}
