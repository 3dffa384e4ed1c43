/** Plans without a model: what to do when neither a pattern nor a model has an answer. Deterministic; never fails. */
import type { CorrectedPath } from './memory';
import { correctPath } from './memory';
import type { FailedCall, RecoveryAction, RecoveryTrouble } from './action';
import { normalizeText, shortHash } from '../errors/fingerprint';
import { recoveryInstructions } from '../failure';
import type { CallEvidence, GuardSlice } from '../guard/state';
import { defined } from '../json';
import type { SnapshotSlice } from '../run/ports';
import { toolPolicy } from '../run/ports';
import type { GoalSlice } from '../secrets/shown-text';
import { goalForPeople } from '../secrets/shown-text';
import { completeTaskTool } from '../tools/ports';
import type { RecoverySlice } from './state';
import { shortened } from '../shortened';

/** Confidence of a correction that one known path fits, and of advice that only the model reads (ADR 0026). */
const correctedConfidence = 0.85;
const adviceConfidence = 0.8;

/** Codes that no other parameter fixes, but a person may. */
const needsPerson: ReadonlySet<string> = new Set(['auth_failed', 'tool_denied', 'outcome_unknown']);

/** Codes that pass by themselves. */
const passes: ReadonlySet<string> = new Set(['rate_limit', 'tool_timeout']);

/** Characters of the goal that are read for its summary. */
const goalChars = 1_000;

function goalOf(state: GoalSlice): string {
  return shortened(goalForPeople(state, goalChars).replace(/\s+/g, ' '), 200);
}

/** Whether a call failed, rather than the run only getting stuck. */
export function isError({ code }: RecoveryTrouble): boolean {
  return Object.hasOwn(recoveryInstructions, code);
}

/** An action that asks a person, in words that hold what they need to know. */
export function escalateAction(
  state: GoalSlice,
  trouble: RecoveryTrouble,
  reasoning: string,
): RecoveryAction {
  const which = isError(trouble) ? 'The failing tool is' : 'It keeps calling';
  const of = trouble.tool === '' ? '' : ` ${which} ${trouble.tool}.`;
  return {
    strategy: 'escalate',
    reasoning,
    action: {
      toolName: trouble.tool,
      escalationMessage: `The agent is stuck on "${goalOf(state)}".${of} What should it do or know to continue?`,
    },
    expectedOutcome: 'A person says what is missing.',
    confidence: 0.9,
  };
}

function corrected(failure: FailedCall, { path, origin, input }: CorrectedPath): RecoveryAction {
  return {
    strategy: 'parameter-adjustment',
    reasoning: `${failure.tool} failed with less than a full path in "${origin.parameter}"; an earlier call names ${path}.`,
    action: { toolName: failure.tool, parameters: input },
    expectedOutcome: `${failure.tool} finds ${path}.`,
    confidence: correctedConfidence,
    origin,
  };
}

function retried(failure: FailedCall): RecoveryAction {
  return {
    strategy: 'retry',
    reasoning: `${failure.tool} failed with ${failure.code}, which may pass by itself.`,
    action: { toolName: failure.tool, ...defined({ parameters: failure.input }) },
    expectedOutcome: `${failure.tool} answers again.`,
    confidence: adviceConfidence,
  };
}

function advised(failure: FailedCall): RecoveryAction {
  const hint = failure.hint === undefined ? '' : ` ${failure.hint}`;
  return {
    strategy: 'parameter-adjustment',
    reasoning: `${failure.tool === '' ? 'The reply' : failure.tool} failed: ${JSON.stringify(failure.message)}.${hint} Change the parameters, not only the words around them.`,
    action: { toolName: failure.tool },
    expectedOutcome: 'The call succeeds, or fails in a new way.',
    confidence: adviceConfidence,
  };
}

/** A tool that serves the same purpose as the one that fails, and has not failed itself. */
function otherTool(
  state: RecoverySlice & SnapshotSlice,
  { tool }: FailedCall,
  exhausted: readonly string[],
): string | undefined {
  const failed = new Set(state.progress.memory.failures.map((failure) => failure.tool));
  return toolPolicy(state, tool)?.alternatives?.find(
    (name) => !failed.has(name) && !exhausted.includes(name),
  );
}

function replaced(failure: FailedCall, other: string): RecoveryAction {
  return {
    strategy: 'alternative-tool',
    reasoning: `${failure.tool} failed again: ${JSON.stringify(failure.message)}. ${other} serves the same purpose: call it instead.`,
    action: { toolName: other },
    expectedOutcome: `${other} gives what ${failure.tool} did not.`,
    confidence: adviceConfidence,
  };
}

type Planning = RecoverySlice & SnapshotSlice & GoalSlice & GuardSlice;

/** Calls that advice names, and characters of the paths in it. */
const namedCalls = 3;
const knownChars = 150;

/** Calls that worked more than once, most frequent first: advice must not send the model back to them. */
function workedAgain({ guard }: GuardSlice): string {
  const worked = guard.evidence.filter(({ failed }) => failed === undefined);
  const actionOf = ({ call, alike }: CallEvidence): string => alike?.gist ?? call;
  const timesOf = (each: CallEvidence): number =>
    worked.filter((other) => actionOf(other) === actionOf(each)).length;
  const named = [...new Map(worked.map((each) => [actionOf(each), each])).values()]
    .filter((each) => timesOf(each) > 1)
    .sort((one, other) => timesOf(other) - timesOf(one))
    .slice(0, namedCalls)
    .map((each) => `${JSON.stringify(each.summary)} ${timesOf(each)} times`);
  return named.length === 0
    ? ''
    : ` You called ${named.join(' and ')}; each worked, so do not call them again.`;
}

/** The newest paths, whole, as far as they fit. */
function knownPaths({ progress }: RecoverySlice): string {
  let chars = 0;
  const known = progress.memory.files
    .slice(-5)
    .flatMap(({ path }) => ((chars += path.length) <= knownChars ? [path] : []));
  return known.length === 0 ? '' : ` Known so far: ${known.join(', ')}.`;
}

function withoutFailure(state: Planning, trouble: RecoveryTrouble): RecoveryAction {
  const worked = workedAgain(state);
  const how =
    state.snapshot?.completion === 'tool'
      ? `with ${completeTaskTool}`
      : 'in plain text, without a tool call';
  return {
    strategy: 'parameter-adjustment',
    reasoning: `${worked === '' ? `${trouble.message} The same results came again.` : worked.trim()} If the goal is reached, say so now ${how}. Otherwise ask for something that is not yet known, use another tool, or answer with what is known.${knownPaths(state)}`,
    action: { toolName: '' },
    expectedOutcome: 'A result that was not seen before, or the answer.',
    confidence: adviceConfidence,
  };
}

/** The trouble came back: another tool for the same purpose if there is one, else a person. */
function again(
  state: Planning,
  trouble: RecoveryTrouble,
  failure: FailedCall | undefined,
  exhausted: readonly string[],
): RecoveryAction {
  const other = failure === undefined ? undefined : otherTool(state, failure, exhausted);
  return failure === undefined || other === undefined
    ? escalateAction(
        state,
        trouble,
        'An earlier recovery did not help, and the trouble came again.',
      )
    : replaced(failure, other);
}

/** Identity of a trouble: an error by tool, code, and text; without an error, the same one for every lack of news. */
export function troubleKey(trouble: RecoveryTrouble): string {
  const { tool, code, message } = trouble;
  return isError(trouble) ? shortHash(`${tool} ${code} ${normalizeText(message)}`) : 'nothing new';
}

/** The failure that a trouble is; undefined where the run only got stuck. */
export function failureBehind(
  failures: readonly FailedCall[],
  trouble: RecoveryTrouble,
): FailedCall | undefined {
  return failures.findLast(
    ({ tool, code, message }) =>
      tool === trouble.tool && code === trouble.code && message === trouble.message,
  );
}

/** Whether there was a plan for this trouble before, or the last action just proved useless. */
function hasCome(
  { recovery, progress }: RecoverySlice,
  trouble: RecoveryTrouble,
  failure: FailedCall | undefined,
): boolean {
  const isRefuted = failure === undefined && recovery.refutedStep === progress.steps;
  return isRefuted || recovery.troubles?.includes(troubleKey(trouble)) === true;
}

/**
 * Plans without a model: a parameter adjustment for a first failure, a person for repeated ones.
 *
 * Contract: total. Source: R-REC-6, R-REC-7.
 */
export function heuristicAction(
  state: Planning,
  trouble: RecoveryTrouble,
  exhausted: readonly string[],
): RecoveryAction {
  const failure = failureBehind(state.progress.memory.failures, trouble);
  const isRepeated = hasCome(state, trouble, failure) || exhausted.includes(trouble.tool);
  if (failure !== undefined && needsPerson.has(failure.code))
    return escalateAction(state, trouble, `${failure.code} is nothing that the agent can fix.`);
  const fitting =
    failure === undefined || exhausted.includes(failure.tool)
      ? undefined
      : correctPath(state.progress.memory, failure.input);
  if (failure !== undefined && fitting !== undefined) return corrected(failure, fitting);
  if (isRepeated) return again(state, trouble, failure, exhausted);
  if (failure === undefined) return withoutFailure(state, trouble);
  return passes.has(failure.code) ? retried(failure) : advised(failure);
}
