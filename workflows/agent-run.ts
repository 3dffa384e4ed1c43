/** The workflow `agentRun`: stamps facts, asks the core, carries out its commands. Decides nothing itself. */
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  makeContinueAsNewFunc,
  workflowInfo,
} from '@temporalio/workflow';
import { recordObservations } from './activity-proxies';
import type { AgentRunInput } from './contract';
import { restoreRunState } from './core/run/restore';
import type { RunOutcome } from './core/run/outcome';
import { outcomeForParent } from './core/subagents/outcome';
import type { RunCommand, RunEvent, UnstampedEvent } from './core/run/protocol';
import type { RunState } from './core/run/state';
import type { Transition } from './core/run/transition';
import { initialTransition, transition } from './core/run/transition';
import { createCommandExecutor } from './execute-command';
import { checkRunInput } from './invalid-input';
import { registerMessageHandlers } from './message-handlers';
import { runKey } from './run-key';
import { reportStep } from './run-observer';
import { createRunVisibility } from './run-visibility';

function stamp(event: UnstampedEvent): RunEvent {
  const { continueAsNewSuggested } = workflowInfo();
  return {
    ...event,
    atMs: Date.now(),
    ...(continueAsNewSuggested ? { rollOverSuggested: true } : {}),
  };
}

/** Decides about an event, for whoever observes the run too. */
function decide(before: RunState, event: RunEvent): Transition {
  const decided = transition(before, event);
  reportStep({ before, event, decided });
  return decided;
}

function begin({ state, request }: AgentRunInput): Transition {
  const atMs = Date.now();
  if (state !== undefined) return decide(restoreRunState(state), { type: 'segment-started', atMs });
  const event = { type: 'run-started', atMs, runKey: runKey(), request } as const;
  const decided = initialTransition(event);
  reportStep({ event, decided });
  return decided;
}

/**
 * Ends the workflow as its outcome says: success and a person's stop return, every other end fails it. A cancelled child returns
 * too: to its parent, the failure would look like the parent's own cancellation, and Temporal gives it no word to say.
 */
function conclude(outcome: RunOutcome): RunOutcome {
  switch (outcome.status) {
    case 'completed':
    case 'stopped':
      return outcome;
    case 'cancelled':
      if (workflowInfo().parent !== undefined) return outcome;
      throw new CancelledFailure(outcome.reason, [outcome]);
    case 'failed':
      throw forcedEnd(outcome);
  }
}

/** No stack crosses: it would show the machine's paths to whoever reads the history. */
function forcedEnd(outcome: Extract<RunOutcome, { status: 'failed' }>): ApplicationFailure {
  const failure = ApplicationFailure.create({
    message: outcome.message,
    type: outcome.reason,
    nonRetryable: true,
    details: [outcome],
  });
  failure.stack = '';
  return failure;
}

/** Begins the next segment: on the current version of the worker deployment, if workers have versions (ADR 0059). */
function beginNextSegment(input: AgentRunInput): Promise<never> {
  return makeContinueAsNewFunc<typeof agentRun>({ initialVersioningBehavior: 'AUTO_UPGRADE' })(
    input,
  );
}

/**
 * Runs an agent durably to a readable end.
 *
 * Errors: fails with one `ApplicationFailure` whose type is the `FailureReason` and whose details hold the `RunOutcome`;
 * cancelled runs end as cancelled, unless they are children. A broken invariant fails only the workflow task, so that a fixed deploy resumes the run.
 * Replay: the order of activities and timers follows the core's commands.
 */
export async function agentRun(input: AgentRunInput): Promise<RunOutcome> {
  checkRunInput(input);
  const { cancelRequested } = CancellationScope.current();
  const outcome = await CancellationScope.nonCancellable(() => runSegment(input, cancelRequested));
  // A subagent's outcome is part of its parent run's history, so it is short.
  return conclude(input.request.parent === undefined ? outcome : outcomeForParent(outcome));
}

/** Takes events until the run ends, or rolls over. `cancelRequested` rejects when the run is to be cancelled. */
async function runSegment(
  input: AgentRunInput,
  cancelRequested: Promise<never>,
): Promise<RunOutcome> {
  const events: UnstampedEvent[] = [];
  const show = createRunVisibility();
  const first = begin(input);
  let [state] = first;
  let rollOver = false as boolean;
  /** What the core threw. */
  const broken: unknown[] = [];

  function take([next, commands]: Transition): void {
    state = next;
    rollOver = wantsRollOver(rollOver, commands);
    for (const command of commands) execute(command);
    show(state);
  }

  function takeEvents(): void {
    while (state.phase.type !== 'ended' && broken.length === 0) {
      const event = events.shift();
      if (event === undefined) return;
      try {
        take(decide(state, stamp(event)));
      } catch (thrown) {
        broken.push(thrown);
      }
    }
  }

  // At once: to wait with a condition for each event costs the SDK a call into the sandbox, and ten promises (ADR 0055).
  const execute = createCommandExecutor((event) => {
    events.push(event);
    takeEvents();
  });
  /** Of what people send: taken when everything that came with it has been delivered. */
  function emit(event: UnstampedEvent): void {
    events.push(event);
    void Promise.resolve().then(takeEvents);
  }

  take(first);
  registerMessageHandlers({
    state: () => state,
    emit,
    isDigested: (event) => !events.includes(event),
  });
  cancelRequested.catch((thrown: unknown) => {
    const reason = thrown instanceof Error && thrown.message !== '' ? thrown.message : 'cancelled';
    emit({ type: 'cancel-requested', reason });
  });
  for (;;) {
    await condition(
      () =>
        broken.length > 0 || state.phase.type === 'ended' || (rollOver && allHandlersFinished()),
    );
    // No roll-over leaves an event behind.
    takeEvents();
    if (broken.length > 0) throw broken[0];
    if (state.phase.type === 'ended') {
      await recordLastErrors(state);
      await condition(allHandlersFinished);
      return state.phase.outcome;
    }
    if (rollOver) await beginNextSegment({ request: state.request, state });
  }
}

/** Records the errors that only the run's end closed. */
async function recordLastErrors({ learning, snapshot, head }: RunState): Promise<void> {
  if (learning.waiting.length === 0 || snapshot === undefined || head === undefined) return;
  const { storeId, definition } = snapshot;
  await recordObservations({ storeId, definition, head, observations: learning.waiting });
}

/** A wanted roll-over stays wanted while only people's words come in between. */
function wantsRollOver(wanted: boolean, commands: readonly RunCommand[]): boolean {
  if (commands.some((command) => command.type === 'roll-over')) return true;
  return wanted && commands.every((command) => command.type === 'publish');
}
