/** Refuses what a client without the checks of ours sends, before it can break a workflow task. */
import { ApplicationFailure } from '@temporalio/common';
import { field } from './people-events';

/** The failure of input that cannot be used. No stack crosses: it would show the machine's paths. */
export function invalidInput(problem: string, type = 'InvalidInput'): ApplicationFailure {
  const failure = ApplicationFailure.nonRetryable(problem, type);
  failure.stack = '';
  return failure;
}

/**
 * Validates what the core reads of a run's request; the activity `prepareRun` validates the rest.
 *
 * Errors: `invalidInput`, which fails the run.
 */
export function checkRunInput(input: unknown): void {
  const request = field(input, 'request');
  for (const name of ['agent', 'goal']) {
    const value = field(request, name);
    if (typeof value !== 'string')
      throw invalidInput(
        `agentRun takes { request: { agent, goal } }: "${name}" must be a string, got ${typeof value}.`,
      );
  }
}
