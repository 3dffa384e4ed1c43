/** An author's own checks of what an agent is asked and of what a run answers (ADR 0060). */
import type { GuardrailPolicies, GuardrailStage } from '../../workflows/core/guardrails/ports';
import { UserError } from '../lifecycle/user-error';
import type { RunContext } from '../tools/tool';

/**
 * What a check says: `null` passes. `stop` ends the run, with the reason for people. `correct` is for the model: before its first call it reads
 * it with the request; an answer is not given to anybody, and the model tries again.
 */
export type GuardrailAnswer = null | { readonly stop: string } | { readonly correct: string };

/** What a check may know of the run, and a signal that is aborted on cancel, time limit and worker shutdown. */
export interface GuardrailContext<Context = unknown> extends RunContext<Context> {
  readonly signal: AbortSignal;
}

/** An answer that is checked. */
export interface CheckedAnswer<Output = unknown> {
  /** The text, or `summary` of `complete_task`. */
  readonly text: string;
  /** As the agent's output schema returns it; undefined without one. */
  readonly output: Output;
}

/**
 * One check. It may run more than once, so it changes nothing.
 *
 * Errors: what it throws, or no answer within its time, is tried again, four times in all; then the run ends as `guardrail_failed`.
 */
interface Guardrail<Checked, Context> {
  /** As the timeline shows it. */
  readonly name: string;
  /** Milliseconds that it may take. Default 30,000. */
  readonly timeoutMs?: number;
  check(
    checked: Checked,
    run: GuardrailContext<Context>,
  ): GuardrailAnswer | Promise<GuardrailAnswer>;
}

/** The checks of an agent; those of one stage run side by side. */
export interface Guardrails<Context = unknown, Output = unknown> {
  /** Before the agent's first call in a run, also in a run that is handed to it: of the goal, or of the message that continues a conversation. */
  readonly input?: readonly Guardrail<string, Context>[];
  /** Before the answer of a run that was started with this agent. */
  readonly output?: readonly Guardrail<CheckedAnswer<Output>, Context>[];
}

/** A check of either stage. */
export type AnyGuardrail = Guardrail<unknown, unknown>;

/** Default of `timeoutMs` (ADR 0060). */
const defaultTimeoutMs = 30_000;

/** Milliseconds that a check may take. */
export function guardrailTimeoutMs({ timeoutMs = defaultTimeoutMs }: AnyGuardrail): number {
  return timeoutMs;
}

/** The checks of a stage. Contract: each gets what its stage checks. */
export function guardrailsOf(
  guardrails: Guardrails | undefined,
  stage: GuardrailStage,
): readonly AnyGuardrail[] {
  return guardrails?.[stage] ?? [];
}

/** What the core knows of the checks of a run: what the acting agent is asked, and what the run answers. */
export function guardrailPolicies(
  acting: Guardrails | undefined,
  starter: Guardrails | undefined,
): GuardrailPolicies | undefined {
  const policyOf = (stage: GuardrailStage, of: Guardrails | undefined): GuardrailPolicies => {
    const checks = guardrailsOf(of, stage);
    if (checks.length === 0) return {};
    const names = checks.map(({ name }) => name);
    return { [stage]: { names, timeoutMs: Math.max(...checks.map(guardrailTimeoutMs)) } };
  };
  const policies = { ...policyOf('input', acting), ...policyOf('output', starter) };
  return Object.keys(policies).length === 0 ? undefined : policies;
}

/** Refuses two checks of one name in a stage. Errors: `UserError`. */
export function checkGuardrailNames(where: string, guardrails: Guardrails | undefined): void {
  for (const stage of ['input', 'output'] as const) {
    const names = guardrailsOf(guardrails, stage).map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined)
      throw new UserError(
        `${where}: ${stage} guardrail "${twice}" is given twice; names must be unique.`,
      );
  }
}
