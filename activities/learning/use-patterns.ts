/** Finds a learned fix for an error. */
import { defaultConfidence } from '../../workflows/core/recovery/confidence';
import { errorFingerprint } from '../../workflows/core/errors/error-fingerprint';
import { defined } from '../../workflows/core/json';
import { defaultTenant } from '../../workflows/core/limits';
import type { LearnedAction, LearnedQuestion } from '../definitions/feature-hooks';
import type { Message } from '../../workflows/core/message';
import type { Fix, Pattern } from '../stores/patterns/pattern-shape';
import type { Store } from '../stores/store';
import type { OutputStore } from '../tool-call/path-origin';
import { wholeOutput } from '../tool-call/path-origin';
import { trustIn } from './evidence';
import type { ReadResult } from './fix-template';
import { describeFix, parametersFrom } from './fix-template';
import { searchedResults } from './record-errors';

/** Whole outputs from which a fix takes a value, newest last. */
async function outputsFor(
  store: OutputStore,
  { changes }: Fix,
  messages: readonly Message[],
): Promise<readonly ReadResult[]> {
  const tools = changes.flatMap((change) => (change.type === 'from-result' ? [change.tool] : []));
  const results = messages
    .flatMap((message) => (message.role === 'tool' ? message.results : []))
    .filter(({ isError }) => !isError)
    .slice(-searchedResults)
    .filter(({ name }) => tools.includes(name));
  return Promise.all(
    results.map(async (result) => ({ tool: result.name, text: await wholeOutput(store, result) })),
  );
}

async function adviceOf(
  store: OutputStore,
  pattern: Pattern,
  { trouble, messages }: LearnedQuestion,
  nowMs: number,
): Promise<LearnedAction> {
  const { fix, errorText } = pattern;
  const outputs = await outputsFor(store, fix, messages);
  const isQuestion = fix.strategy === 'escalate';
  return {
    patternId: pattern.id,
    strategy: fix.strategy,
    reasoning: `In earlier runs this fixed ${JSON.stringify(errorText)}: ${describeFix(fix)}.`,
    action: {
      toolName: fix.toolName,
      ...defined({
        parameters: parametersFrom(fix, trouble.input, outputs),
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
 * The best active pattern for an error at a time of the store's clock, as a recovery action: one that gives a concrete call before one that only advises.
 *
 * Errors: `store_unavailable`, `store_corrupt`; then a planner continues without patterns.
 */
export async function lookupPattern(
  store: OutputStore & Pick<Store, 'patterns'>,
  question: LearnedQuestion,
  nowMs: number,
): Promise<LearnedAction | undefined> {
  const { tenant = defaultTenant, tools } = question.config;
  const { tool, code, message } = question.trouble;
  const kind = { tool, errorFingerprint: errorFingerprint(code, message) };
  const has = (name: string): boolean => tools.some((known) => known.name === name);
  const known = (await store.patterns.patterns(tenant, kind)).filter(
    ({ status, fix }) => status === 'active' && (fix.strategy === 'escalate' || has(fix.toolName)),
  );
  const advices = (
    await Promise.all(known.map((pattern) => adviceOf(store, pattern, question, nowMs)))
  )
    .filter(({ confidence }) => confidence >= defaultConfidence.askAt)
    .sort((left, right) => rank(right) - rank(left));
  return advices[0];
}
