/** The phase in which an agent's guardrails check, and the answer that they check. */
import type { JsonValue } from '../json';
import type { Head } from '../message';
import type { PhaseSlice } from '../run/phases';
import type { ProposedToolCall } from '../tools/ports';
import type { GuardrailStage } from './ports';

/** The phase. */
export interface CheckingGuardrails {
  readonly type: 'checking-guardrails';
  readonly stage: GuardrailStage;
  readonly callId: string;
}

/** An answer that may end the run. */
export interface ProposedAnswer {
  readonly answer: string;
  readonly output?: JsonValue;
  /** Transcript that ends with it. */
  readonly head: Head;
  /** The call of `complete_task`, if it came by one. */
  readonly calls: readonly ProposedToolCall[];
}

/** The slice. */
export interface GuardrailsSlice {
  /** The answer that is being checked; it is not in the run's transcript yet. */
  readonly proposed?: ProposedAnswer;
}

function isChecking(phase: PhaseSlice['phase']): phase is CheckingGuardrails {
  return phase.type === 'checking-guardrails';
}

/** The phase, if these checks are in flight. */
export function checkingGuardrails(
  { phase }: PhaseSlice,
  callId: string,
): CheckingGuardrails | undefined {
  return isChecking(phase) && phase.callId === callId ? phase : undefined;
}
