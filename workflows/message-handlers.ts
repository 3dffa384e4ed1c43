/** Signals, updates and queries. Handlers only append events; the core decides what they mean. */
import type { RawValue } from '@temporalio/common';
import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import type { AnswerQuestion, ResolveApproval, UpdateAccepted } from './contract';
import { queryNames, signalNames, updateNames } from './contract';
import type { Verdict } from './core/people/verdicts';
import { verdictOnAnswer, verdictOnDecision } from './core/people/verdicts';
import type { UnstampedEvent } from './core/run/protocol';
import type { RunState } from './core/run/state';
import type { PendingItem } from './core/view/pending';
import type { RunStatusView } from './core/view/status';
import { pendingItems } from './core/view/pending';
import { statusView } from './core/view/status';
import { invalidInput } from './invalid-input';
import type { DecisionEvent } from './people-events';
import { leftRaw, readPayload } from './message-payload';
import { eventOfSignal, eventOfUpdate } from './people-events';
import { problemOfAnswer, problemOfDecision } from './update-problems';

/** What handlers may use of the run. */
export interface RunHandle {
  readonly state: () => RunState;
  readonly emit: (event: UnstampedEvent) => void;
  /** True when the core has taken this emitted event. */
  readonly isDigested: (event: UnstampedEvent) => boolean;
}

function reject(problem: string): never {
  throw invalidInput(problem);
}

function registerSignals({ emit }: RunHandle): void {
  for (const name of Object.values(signalNames))
    setHandler(
      defineSignal<[RawValue]>(name, { typeInfo: leftRaw }),
      (raw: RawValue | undefined) => {
        const event = eventOfSignal(name, readPayload(raw));
        if (event !== undefined) emit(event);
      },
    );
}

function verdictOn(state: RunState, event: DecisionEvent): Verdict {
  return event.type === 'approval-resolved'
    ? verdictOnDecision(state, event)
    : verdictOnAnswer(state, event);
}

/**
 * Waits until what a person sent took effect, and responds with the result: of two that contradict each other in one workflow
 * task, only one is accepted. A run that ended first never takes it, and waits for its handlers.
 */
async function settle(
  { state, isDigested }: RunHandle,
  event: DecisionEvent,
): Promise<UpdateAccepted> {
  const verdict = (): Verdict =>
    isDigested(event) ? verdictOn(state(), event) : { type: 'undecided' };
  await condition(() => verdict().type !== 'undecided' || state().phase.type === 'ended');
  const now = verdict();
  if (now.type === 'accepted') return { accepted: true };
  if (state().phase.type === 'ended')
    throw invalidInput('The run ended before this took effect.', 'RunEnded');
  return reject(now.type === 'refused' ? now.problem : 'This did not take effect.');
}

function registerUpdates(handle: RunHandle): void {
  const take = (name: string, update: unknown): Promise<UpdateAccepted> => {
    const event = eventOfUpdate(name, update);
    if (event === undefined) return Promise.resolve({ accepted: true });
    handle.emit(event);
    return settle(handle, event);
  };
  const validated = (
    problem: typeof problemOfDecision,
  ): { validator: (update: unknown) => void } => ({
    validator: (update) => {
      const found = problem(handle.state(), update);
      if (found !== undefined) reject(found);
    },
  });
  const { resolveApproval, answer } = updateNames;
  setHandler(
    defineUpdate<UpdateAccepted, [ResolveApproval]>(resolveApproval),
    (update) => take(resolveApproval, update),
    validated(problemOfDecision),
  );
  setHandler(
    defineUpdate<UpdateAccepted, [AnswerQuestion]>(answer),
    (update) => take(answer, update),
    validated(problemOfAnswer),
  );
}

/** Registers every handler of a run. */
export function registerMessageHandlers(handle: RunHandle): void {
  registerSignals(handle);
  registerUpdates(handle);
  setHandler(defineQuery<RunStatusView>(queryNames.status, { typeInfo: leftRaw }), () =>
    statusView(handle.state()),
  );
  setHandler(defineQuery<readonly PendingItem[]>(queryNames.pending, { typeInfo: leftRaw }), () =>
    pendingItems(handle.state()),
  );
}
