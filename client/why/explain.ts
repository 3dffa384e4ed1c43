/** Explains a run from its history: why it is where it is, what it cost, and what to do now. Pure, without a model. */
import { cachedText, costText } from '../../workflows/core/budget/spend';
import { reportOf } from '../../workflows/core/run/ending';
import { shortened } from '../../workflows/core/shortened';
import { statusView } from '../../workflows/core/view/status';
import { readingHistory } from '../temporal-failure';
import { causeOfEnd } from './ended-causes';
import type { Diagnosis, NextStep, RunExplanation, WhyCause, WhyFacts } from './explanation';
import type { Counted } from './story';
import { spanText } from './next-steps';
import { causeOfOpenRun } from './open-causes';

/** Rows of each kind; the newest are kept. */
const shownRows = 6;

function newest(counted: readonly Counted[]): readonly Counted[] {
  const more = counted.length - shownRows;
  if (more <= 0) return counted;
  const earlier = counted.slice(0, more).reduce((sum, { times }) => sum + times, 0);
  return [{ what: 'earlier ones', times: earlier }, ...counted.slice(more)];
}

/** `1 iteration`, `3 iterations`. */
function counts(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function costOf({ state, outcome, nowMs }: WhyFacts): string {
  const { cost, usage, cachedShare, iterations, modelCalls, elapsedMs } =
    outcome?.report ?? reportOf(state, nowMs);
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return [
    costText(cost),
    `${input} tokens in${cachedText(cachedShare)} and ${usage.outputTokens} out`,
    `${counts(iterations, 'iteration')} with ${counts(modelCalls, 'model call')}`,
    spanText(elapsedMs),
  ].join('; ');
}

/** What the agent's operator was advised beside. */
function adviceSteps({ state }: WhyFacts): readonly NextStep[] {
  return (state.advice ?? []).map((text) => ({ text }));
}

/** `It has failed after 3 iterations (12 s).` */
function beginning({ runId, state, outcome, nowMs }: WhyFacts): string {
  const { agent } = state.request;
  const { status } = outcome ?? statusView(state);
  const { iterations, elapsedMs } = outcome?.report ?? reportOf(state, nowMs);
  const is = status === 'running' || status === 'waiting' ? `is ${status}` : `was ${status}`;
  const verb = status === 'failed' || status === 'completed' ? status : is;
  return `Run ${runId} of agent ${agent} ${verb} after ${counts(iterations, 'iteration')} and ${spanText(elapsedMs)}.`;
}

/** Causes that are no failure: the run goes on, waits for a person, or was ended by one. */
const noFailures: readonly WhyCause[] = [
  'approval',
  'question',
  'escalated',
  'recovering',
  'stopped',
  'cancelled',
  'at_work',
  'completed',
];
/** Characters of a cause in the table. */
const causeChars = 160;

/** What the timeline has, else the cause: not every failure is an event of the run. */
function failedRows({ story }: WhyFacts, { cause, says }: Diagnosis): readonly Counted[] {
  if (story.failed.length > 0 || noFailures.includes(cause)) return newest(story.failed);
  return [{ what: shortened(`${cause}: ${says}`, causeChars), times: 1 }];
}

/**
 * Contract: pure; the same facts give the same explanation.
 *
 * Errors: `converter-mismatch` for facts of a history that no run of this release writes.
 */
export function explain(facts: WhyFacts): RunExplanation {
  return readingHistory(facts.runId, () => explained(facts));
}

function explained(facts: WhyFacts): RunExplanation {
  const { runId, state, story, outcome } = facts;
  const diagnosis = outcome === undefined ? causeOfOpenRun(facts) : causeOfEnd(facts, outcome);
  const { cause, says, next } = diagnosis;
  const isHealed = outcome?.status === 'completed' && story.failed.length > 0;
  return {
    runId,
    status: (outcome ?? statusView(state)).status,
    cause,
    paragraph: [
      beginning(facts),
      says,
      ...(isHealed ? ['What failed on the way did not keep it from its answer.'] : []),
    ].join(' '),
    failed: failedRows(facts, diagnosis),
    tried: newest(story.tried),
    worked: newest(story.worked),
    cost: costOf(facts),
    next: [...next, ...adviceSteps(facts)],
  };
}
