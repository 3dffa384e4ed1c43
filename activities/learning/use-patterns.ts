/** Finds a learned fix for an error, and counts whether it helped. */
import { defaultConfidence } from '../../workflows/core/recovery/confidence';
import type { AgentErrorCode } from '../../workflows/core/failure';
import { errorFingerprint } from '../../workflows/core/errors/error-fingerprint';
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import type { LearnedAction } from '../definitions/feature-hooks';
import { afterUse, trustIn } from './evidence';
import type { ReadResult } from './fix-template';
import { describeFix, parametersFrom } from './fix-template';
import type { Fix, Pattern, PatternUse } from '../stores/patterns/pattern-shape';
import type { PatternStore } from '../stores/patterns/pattern-store';

/** The error that a run is stuck on. */
export interface PatternContext {
  readonly tenant: string;
  /** Tool whose call failed; empty if the reply as a whole was wrong. */
  readonly tool: string;
  readonly errorCode: AgentErrorCode;
  readonly errorMessage: string;
  /** Of the call that failed, if it is known. */
  readonly input?: JsonObject;
  /** Successful results that the model has read, newest last. */
  readonly results?: readonly ReadResult[];
  /** Tools of the agent; patterns for other tools are ignored. */
  readonly tools: readonly string[];
}

function adviceOf(pattern: Pattern, context: PatternContext, nowMs: number): LearnedAction {
  const { fix, errorText } = pattern;
  const parameters = parametersFrom(fix, context.input, context.results ?? []);
  return {
    patternId: pattern.id,
    strategy: fix.strategy,
    reasoning: `In earlier runs this fixed ${JSON.stringify(errorText)}: ${describeFix(fix)}.`,
    action: {
      toolName: fix.toolName,
      ...defined({ parameters }),
      ...(fix.strategy === 'escalate'
        ? { escalationMessage: `Earlier runs needed a person's answer to: ${errorText}` }
        : {}),
    },
    expectedOutcome: `${fix.toolName} succeeds`,
    confidence: trustIn(pattern, nowMs),
  };
}

/** Whether the agent has what a fix needs. */
function isPossible({ strategy, toolName }: Fix, { tools }: PatternContext): boolean {
  return strategy === 'escalate' || tools.includes(toolName);
}

/** A concrete call ranks before advice in words, then higher confidence first. */
function rank(advice: LearnedAction): number {
  return advice.confidence + (advice.action.parameters === undefined ? 0 : 1);
}

/**
 * The best active pattern for an error, as a recovery action: one that gives a concrete call before one that only advises.
 *
 * Errors: `store_unavailable`; then a planner continues without patterns.
 */
export async function lookupPattern(
  store: PatternStore,
  context: PatternContext,
  nowMs: number,
): Promise<LearnedAction | undefined> {
  const { tenant, tool } = context;
  const kind = errorFingerprint(context.errorCode, context.errorMessage);
  const found = await store.patterns(tenant, { tool, errorFingerprint: kind });
  const advices = found
    .filter(({ status, fix }) => status === 'active' && isPossible(fix, context))
    .map((pattern) => adviceOf(pattern, context, nowMs))
    .filter(({ confidence }) => confidence >= defaultConfidence.askAt)
    .sort((left, right) => rank(right) - rank(left));
  return advices[0];
}

/** Counts a use of a pattern, which may demote it; unknown patterns are ignored. */
export async function reportPatternUse(
  store: PatternStore,
  patternId: string,
  use: PatternUse,
  nowMs: number,
): Promise<void> {
  await store.updatePattern(patternId, (known) =>
    known === undefined ? undefined : afterUse(known, use, nowMs),
  );
}
