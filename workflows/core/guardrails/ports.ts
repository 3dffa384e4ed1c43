/** The activity `checkGuardrails` as the core sees it: an agent's own checks before its first call and before its answer (ADR 0060). */
import type { ActivityTimes } from '../activity-times';
import type { DefinitionReference, Head } from '../message';

/** When checks run: before an agent's first model call, or before the run's answer. */
export type GuardrailStage = 'input' | 'output';

/** The checks of one stage, as the core knows them. */
interface GuardrailPolicy {
  readonly names: readonly string[];
  /** Milliseconds that the slowest of them may take; they run side by side. */
  readonly timeoutMs: number;
}

/** The checks of a run. */
export type GuardrailPolicies = { readonly [Stage in GuardrailStage]?: GuardrailPolicy };

/** Input of the checks. */
export interface CheckGuardrailsInput extends DefinitionReference {
  readonly stage: GuardrailStage;
  /** For `output`: the transcript that ends with the answer. */
  readonly head: Head;
}

/** What one check said. */
export interface GuardrailVerdict {
  readonly name: string;
  readonly verdict: 'passed' | 'stopped' | 'corrected';
  /** The reason of a stop, or what the model is to do; at most 500 characters. */
  readonly message?: string;
}

/** What the checks said, in their order. */
export interface CheckGuardrailsResult extends ActivityTimes {
  readonly verdicts: readonly GuardrailVerdict[];
}
