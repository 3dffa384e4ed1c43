/** The phase in which a model call is in flight. */
import type { PhaseSlice } from '../run/phases';

/** The phase. */
export interface CallingModel {
  readonly type: 'calling-model';
  readonly callId: string;
  /** Place of the route in the chain. */
  readonly routeIndex: number;
  /** How many texts of the inbox this call carries. */
  readonly sentTexts: number;
}

/** The slice of replies that were cut. */
export interface ModelCallSlice {
  /** Tokens of the larger output limit while one reply after the other is cut. */
  readonly raisedOutputTokens?: number;
  /** Tokens of an output limit that a vendor refused as too large. */
  readonly refusedOutputTokens?: number;
}

function isCallingModel(phase: PhaseSlice['phase']): phase is CallingModel {
  return phase.type === 'calling-model';
}

/** The phase, if a model call is in flight. */
export function callingModel({ phase }: PhaseSlice): CallingModel | undefined {
  return isCallingModel(phase) ? phase : undefined;
}
