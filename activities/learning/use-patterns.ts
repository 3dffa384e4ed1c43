/** Finds a learned fix for an error. */
import { defaultConfidence } from '../../workflows/core/recovery/confidence';
import { errorFingerprint } from '../../workflows/core/errors/error-fingerprint';
import { defined } from '../../workflows/core/json';
import type { LearnedAction, LearnedQuestion } from '../definitions/feature-hooks';
import type { Pattern } from '../stores/patterns/pattern-shape';
import type { PatternStore } from '../stores/patterns/pattern-store';
import { trustIn } from './evidence';
import { describeFix, parametersFrom } from './fix-template';
import { defaultTenant, readResults } from './record-errors';

function adviceOf(pattern: Pattern, { trouble, messages, nowMs }: LearnedQuestion): LearnedAction {
  const { fix, errorText } = pattern;
  const isQuestion = fix.strategy === 'escalate';
  return {
    patternId: pattern.id,
    strategy: fix.strategy,
    reasoning: `In earlier runs this fixed ${JSON.stringify(errorText)}: ${describeFix(fix)}.`,
    action: {
      toolName: fix.toolName,
      ...defined({
        parameters: parametersFrom(fix, trouble.input, readResults(messages)),
        escalationMessage: isQuestion
          ? `Earlier runs needed a person's answer to: ${errorText}`
          : undefined,
      }),
    },
    expectedOutcome: `${fix.toolName} succeeds`,
    confidence: trustIn(pattern, nowMs),
  };
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
  question: LearnedQuestion,
): Promise<LearnedAction | undefined> {
  const { tenant = defaultTenant, tools } = question.config;
  const { tool, code, message } = question.trouble;
  const kind = { tool, errorFingerprint: errorFingerprint(code, message) };
  const has = (name: string): boolean => tools.some((known) => known.name === name);
  const advices = (await store.patterns(tenant, kind))
    .filter(
      ({ status, fix }) =>
        status === 'active' && (fix.strategy === 'escalate' || has(fix.toolName)),
    )
    .map((pattern) => adviceOf(pattern, question))
    .filter(({ confidence }) => confidence >= defaultConfidence.askAt)
    .sort((left, right) => rank(right) - rank(left));
  return advices[0];
}
