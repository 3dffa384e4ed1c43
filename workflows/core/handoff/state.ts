/** The phase and the slice of a run that is handed to another agent (ADR 0060). */
import type { PhaseSlice } from '../run/phases';

/** The phase in which the next agent is prepared. */
export interface HandingOver {
  readonly type: 'handing-over';
  readonly callId: string;
}

/** A handoff that the model asked for, and that nothing speaks against. */
export interface Handoff {
  /** Name of the agent that takes the run over. */
  readonly to: string;
  /** As people read it; empty where only the store has it. */
  readonly reason: string;
}

/** The slice. */
export interface HandoffSlice {
  /** Until the next agent acts. */
  readonly handoff?: Handoff;
}

function isHandingOver(phase: PhaseSlice['phase']): phase is HandingOver {
  return phase.type === 'handing-over';
}

/** The phase, if this preparation of the next agent is in flight. */
export function handingOver({ phase }: PhaseSlice, callId: string): HandingOver | undefined {
  return isHandingOver(phase) && phase.callId === callId ? phase : undefined;
}
