/** Ephemeral notes: what the runtime tells the model in the next request only. */
import type { RunState } from '../run/state';

/** Adds a text to the note of the next request, behind what other parts have to say. */
export function addNote(state: RunState, text: string): RunState {
  const { note } = state.next;
  return {
    ...state,
    next: { ...state.next, note: note === undefined ? text : `${note}\n\n${text}` },
  };
}
