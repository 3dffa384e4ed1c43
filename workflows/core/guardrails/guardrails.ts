/** Starts an agent's guardrails, and does what they say: go on, correct, or stop (ADR 0060). */
import type { AgentError } from '../failure';
import { agentError } from '../failure';
import { without } from '../json';
import type { NextRequestSlice } from '../model-call/next-request';
import { addNote, noteProvenance } from '../model-call/next-request';
import type { CountersSlice } from '../run/account';
import type { Move } from '../run/move';
import { fail, goTo, precededBy, publish, stay } from '../run/move';
import type { PhaseSlice, StoreWaitSlice } from '../run/phases';
import type { SnapshotSlice } from '../run/ports';
import { prepared } from '../run/ports';
import { storeAnswered } from '../run/waiting';
import { inertTags } from '../secrets/inert-tags';
import type { CheckGuardrailsResult, GuardrailStage, GuardrailVerdict } from './ports';
import type { CheckingGuardrails, GuardrailsSlice, ProposedAnswer } from './state';

type CheckedState = CountersSlice & GuardrailsSlice & PhaseSlice & SnapshotSlice;

function start<State extends CheckedState>(
  state: State,
  stage: GuardrailStage,
  head: string,
): Move<State> | undefined {
  const { guardrails, storeId, definition, limits } = prepared(state).snapshot;
  const policy = guardrails?.[stage];
  if (policy === undefined) return undefined;
  const callId = `g${state.counters.iterations}`;
  return stay(
    { ...state, phase: { type: 'checking-guardrails', stage, callId } },
    {
      type: 'check-guardrails',
      callId,
      summary: `${stage} guardrails: ${policy.names.join(', ')}`,
      timeoutMs: policy.timeoutMs,
      heartbeatTimeoutMs: limits.heartbeatTimeoutMs,
      input: { storeId, definition, stage, head },
    },
  );
}

/** Checks what the agent is asked before its first call; undefined if nothing checks it. */
export function checkInput<State extends CheckedState>(state: State): Move<State> | undefined {
  return start(state, 'input', prepared(state).head);
}

/** Checks the proposed answer before the run ends with it; undefined if nothing checks it. */
export function checkAnswer<State extends CheckedState>(
  state: State,
  { head }: ProposedAnswer,
): Move<State> | undefined {
  return start(state, 'output', head);
}

/** What the model reads before its first call. */
function advice(corrections: readonly GuardrailVerdict[]): string {
  const lines = corrections.map(({ message = '' }) => inertTags(message));
  return [noteProvenance, ...lines].join('\n');
}

/**
 * An answer that is not accepted. Contract: the message is the same each time, so that the circuit breaker bounds the tries; the
 * hint comes from the agent's author.
 */
function refused({ name, message: hint = '' }: GuardrailVerdict): AgentError {
  return agentError('guardrail', `The answer was not accepted by the check "${name}".`, { hint });
}

function stopText(stage: GuardrailStage, { name, message = '' }: GuardrailVerdict): string {
  const before = stage === 'input' ? 'its first model call' : 'its answer';
  return `The guardrail "${name}" stopped the run before ${before}: ${message}`;
}

/** Does what the guardrails say. A stop counts before a correction. */
export function onGuardrailsChecked<State extends CheckedState & NextRequestSlice & StoreWaitSlice>(
  state: State,
  { stage }: CheckingGuardrails,
  { verdicts }: CheckGuardrailsResult,
): Move<State> {
  const entries = verdicts.map((verdict) => publish({ type: 'GuardrailEvent', stage, ...verdict }));
  const checked: State = { ...storeAnswered(state), phase: { type: 'ready' } };
  const stop = verdicts.find(({ verdict }) => verdict === 'stopped');
  if (stop !== undefined)
    return precededBy(
      entries,
      fail(checked, { reason: 'guardrail', message: stopText(stage, stop) }),
    );
  const corrections = verdicts.filter(({ verdict }) => verdict === 'corrected');
  if (stage === 'input') {
    const noted = corrections.length === 0 ? checked : addNote(checked, advice(corrections));
    return goTo('begin-iteration', noted, ...entries);
  }
  if (corrections.length === 0) return goTo('complete', checked, ...entries);
  // The call itself was fine: nothing is to be learned from it.
  const next = { type: 'reject-reply', errors: corrections.map(refused), calls: [] } as const;
  return { state: without<State>(checked, 'proposed'), commands: entries, next };
}
