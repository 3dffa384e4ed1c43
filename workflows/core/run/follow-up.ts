/** What every decision has behind it: people are told of what waits for them, and learning hears of answers and of the end. */
import { closeObservations, noteAnswer } from '../learning/observations';
import { announcePending } from '../people/notifications';
import type { RunEvent } from './protocol';
import type { RunState } from './state';
import type { Step } from './step';

/** The state as a decision about this event finds it. */
export function heard(state: RunState, event: RunEvent): RunState {
  return event.type === 'question-answered' ? noteAnswer(state) : state;
}

/** A decision with what follows of it. `before` is the state that it was made on. */
export function followUp(before: RunState, decided: Step, event: RunEvent): Step {
  const { phase } = decided.state;
  const state =
    phase.type === 'ended'
      ? closeObservations(decided.state, phase.outcome.status === 'completed')
      : decided.state;
  return announcePending(before, { ...decided, state }, event);
}
