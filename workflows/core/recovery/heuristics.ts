/** The last rung of planning: what to do when neither a pattern nor a model has an answer. Deterministic, never fails. */
import type { CorrectedPath } from './memory';
import { correctPath } from './memory';
import type { FailedCall, RecoveryAction, RecoveryTrouble } from './action';
import type { RunState } from '../run/state';
import { goalForPeople } from '../people/shown-text';

/** Confidence of a correction that one known path fits, and of advice that only the model reads (ADR 0026). */
const correctedConfidence = 0.85;
const adviceConfidence = 0.8;

/** Codes that no other parameter mends, but a person may. */
const needsPerson: ReadonlySet<string> = new Set(['auth_failed', 'tool_denied', 'outcome_unknown']);

/** Codes that pass by themselves. */
const passes: ReadonlySet<string> = new Set(['rate_limit', 'tool_timeout']);

/** Characters of the goal that are read for what is told of it. */
const goalChars = 1_000;

function goalOf(state: RunState): string {
  return goalForPeople(state, goalChars).replace(/\s+/g, ' ').slice(0, 200);
}

/** Asks a person, in words that hold what they need to know. */
export function escalateAction(
  state: RunState,
  trouble: RecoveryTrouble,
  reasoning: string,
): RecoveryAction {
  const of = trouble.tool === '' ? '' : ` The tool ${trouble.tool} is what stops it.`;
  return {
    strategy: 'escalate',
    reasoning,
    action: {
      toolName: trouble.tool,
      escalationMessage: `The agent does not get on with "${goalOf(state)}".${of} What should it do or know to go on?`,
    },
    expectedOutcome: 'A person says what is missing.',
    confidence: 0.9,
  };
}

function corrected(failure: FailedCall, { parameter, path, input }: CorrectedPath): RecoveryAction {
  return {
    strategy: 'parameter-adjustment',
    reasoning: `${failure.tool} failed with less than a full path in "${parameter}"; an earlier result names ${path}.`,
    action: { toolName: failure.tool, parameters: input },
    expectedOutcome: `${failure.tool} finds ${path}.`,
    confidence: correctedConfidence,
  };
}

function retried(failure: FailedCall): RecoveryAction {
  return {
    strategy: 'retry',
    reasoning: `${failure.tool} failed with ${failure.code}, which may pass by itself.`,
    action: {
      toolName: failure.tool,
      ...(failure.input === undefined ? {} : { parameters: failure.input }),
    },
    expectedOutcome: `${failure.tool} answers again.`,
    confidence: adviceConfidence,
  };
}

function advised(failure: FailedCall): RecoveryAction {
  const hint = failure.hint === undefined ? '' : ` ${failure.hint}`;
  return {
    strategy: 'parameter-adjustment',
    reasoning: `${failure.tool === '' ? 'The reply' : failure.tool} failed: ${JSON.stringify(failure.message)}.${hint} Change the parameters, not only the words round them.`,
    action: { toolName: failure.tool },
    expectedOutcome: 'The call succeeds, or fails in a new way.',
    confidence: adviceConfidence,
  };
}

/** A tool that serves the same purpose as the one that fails, and has not failed itself. */
function otherTool(
  { snapshot, progress }: RunState,
  { tool }: FailedCall,
  exhaustedTools: readonly string[],
): string | undefined {
  const policy = snapshot?.tools.find(({ name }) => name === tool);
  const failed = new Set(progress.memory.failures.map((failure) => failure.tool));
  return policy?.alternatives?.find((name) => !failed.has(name) && !exhaustedTools.includes(name));
}

function replaced(failure: FailedCall, other: string): RecoveryAction {
  return {
    strategy: 'alternative-tool',
    reasoning: `${failure.tool} failed again: ${JSON.stringify(failure.message)}. ${other} serves the same purpose: call it instead, for the same end.`,
    action: { toolName: other },
    expectedOutcome: `${other} gives what ${failure.tool} did not.`,
    confidence: adviceConfidence,
  };
}

function withoutFailure(state: RunState, trouble: RecoveryTrouble): RecoveryAction {
  const last = state.progress.latest?.tool ?? '';
  const { files } = state.progress.memory;
  const known = files.length === 0 ? '' : ` Known so far: ${files.slice(-5).join(', ')}.`;
  return {
    strategy: 'parameter-adjustment',
    reasoning: `${trouble.message} The same results came again.${known} Ask for something that is not known yet, use another tool, or answer with what is known.`,
    action: { toolName: last },
    expectedOutcome: 'A result that was not seen before, or the answer.',
    confidence: adviceConfidence,
  };
}

/** The trouble came again: another tool for the same purpose, where there is one, else a person. */
function again(
  state: RunState,
  trouble: RecoveryTrouble,
  failure: FailedCall | undefined,
  exhaustedTools: readonly string[],
): RecoveryAction {
  const other = failure === undefined ? undefined : otherTool(state, failure, exhaustedTools);
  return failure === undefined || other === undefined
    ? escalateAction(
        state,
        trouble,
        'An earlier recovery did not help, and the trouble came again.',
      )
    : replaced(failure, other);
}

function isAbout(trouble: RecoveryTrouble, { tool, code, message }: FailedCall): boolean {
  return tool === trouble.tool && code === trouble.code && message === trouble.message;
}

/**
 * Plans without a model: a parameter adjustment for a first failure, a person for repeated ones.
 *
 * Contract: total. Source: seed 003, fallback; concrete parameters where an earlier result names the one path that fits.
 */
export function heuristicAction(
  state: RunState,
  trouble: RecoveryTrouble,
  exhaustedTools: readonly string[],
): RecoveryAction {
  const failure = state.progress.memory.failures.findLast((known) => isAbout(trouble, known));
  const isRepeated = state.recovery.plans > 0 || exhaustedTools.includes(trouble.tool);
  if (failure !== undefined && needsPerson.has(failure.code))
    return escalateAction(state, trouble, `${failure.code} is nothing that the agent can mend.`);
  const fitting =
    failure === undefined || exhaustedTools.includes(failure.tool)
      ? undefined
      : correctPath(state.progress.memory, failure.input);
  if (failure !== undefined && fitting !== undefined) return corrected(failure, fitting);
  if (isRepeated) return again(state, trouble, failure, exhaustedTools);
  if (failure === undefined) return withoutFailure(state, trouble);
  return passes.has(failure.code) ? retried(failure) : advised(failure);
}
