/** The activity `runTool`: at most the effect that the tool declares, whatever dies in between. */
import { Context, log } from '@temporalio/activity';
import type { JsonObject } from '../workflows/core/json';
import { defined } from '../workflows/core/json';
import { previewChars } from '../workflows/core/limits';
import type {
  Lineage,
  RunToolInput,
  RunToolResult,
  SentToolCall,
  WorkEnd,
} from '../workflows/core/tools/ports';
import type { ActivityDeps, RunDefinition } from './definitions/activity-deps';
import { loadDefinition, storeOf } from './definitions/activity-deps';
import { loadToolCall } from './definitions/run-facts';
import { withHeartbeat } from './lifecycle/activity-lifecycle';
import { afterEarlierAttempt, countedAttempt } from './tool-call/attempts';
import type { EarlierAnswer } from './tool-call/earlier-runs';
import { answerOfEarlierRun, beginAfter, outcomeIn } from './tool-call/earlier-runs';
import { withKnownHint } from './knowledge/hint-from-knowledge';
import { resultIdentityOf } from './identity/result-identity';
import { sanitizeText } from './untrusted/sanitizer';
import type { OwnedTool, Store } from './stores/store';
import { actionDigest } from './tool-call/action-digest';
import { changedDefinition } from './tool-call/changed-definition';
import { executionOfWork, untilStored } from './tool-call/ended-work';
import type { AttemptSigns, Marked } from './tool-call/ownership';
import { inThisTurn, lostOwnership, requireCounted, startingOwned } from './tool-call/ownership';
import type { ExecutionPlace, FinishedExecution } from './tool-call/tool-execution';
import { toolFailure } from './tool-call/tool-execution';
import { problemOfApproval } from './tool-call/signed-approval';
import { inputOf, refusedInputHint, requireTool, runContextOf } from './tool-call/tool-of-run';
import type { ResultPlace } from './tool-output/kept-result';
import { keepOutcome, keepResult, resultOf } from './tool-output/kept-result';
import type { Tool } from './tools/tool';
import type { Earlier } from './tool-call/unknown-outcome';
import { decideExecution } from './tool-call/unknown-outcome';

/**
 * Records the intent of a call that may change something, which this attempt then owns. One of a `keyed` call also marks it as
 * executing: an attempt that finds it so does as if it were only begun, and repeats it under its key (ADR 0055).
 */
async function begin(
  store: Store,
  tool: Tool,
  input: RunToolInput,
  { given, ran }: { readonly given: JsonObject; readonly ran: unknown },
  signs: AttemptSigns,
): Promise<(Awaited<ReturnType<typeof beginAfter>> & Marked) | undefined> {
  if (tool.effect === 'read') return undefined;
  const lineage: Partial<Lineage> = input.lineage ?? {};
  const { iteration, callers } = lineage;
  // The server's time: executions are put in order by it, whatever the clocks of their workers say (ADR 0047).
  const scheduledAtMs = Context.current().info.currentAttemptScheduledTimestampMs;
  const intent = {
    key: input.idempotencyKey,
    tool: tool.name,
    inputDigest: await actionDigest(tool, given, ran),
    startedAtMs: scheduledAtMs,
    ...defined({ iteration, callers }),
  };
  if (tool.effect !== 'keyed') return beginAfter(store, intent, lineage, scheduledAtMs, 'begun');
  requireCounted(signs);
  const claim = await beginAfter(store, intent, lineage, scheduledAtMs, 'executing');
  return 'owner' in claim && claim.intent.source === undefined
    ? { ...claim, isFreshlyMarked: inThisTurn() }
    : claim;
}

/** Executes a call, unless an earlier run has done the same. */
async function answerCall(
  tool: Tool,
  value: unknown,
  earlier: Earlier,
  place: ExecutionPlace,
): Promise<EarlierAnswer> {
  const source = earlier.record?.intent.source;
  return source === undefined
    ? { type: 'execution', execution: await decideExecution(tool, value, earlier, place) }
    : answerOfEarlierRun(tool, value, source, earlier, place);
}

/** Adds what is known about the tool to an error without a hint. */
function advised(
  { config }: RunDefinition,
  execution: FinishedExecution,
  value: JsonObject,
): FinishedExecution {
  return execution.type === 'error'
    ? { ...execution, error: withKnownHint(execution.error, config.knowledge, value) }
    : execution;
}

/**
 * Runs one tool call.
 *
 * Contract: a call that finished never runs again: its recorded result is returned; a call that was started and interrupted is
 * repeated only as its effect allows, and until it has cost `limits.maxLostWorkers` workers. An attempt that another one has
 * followed starts nothing (ADR 0031). A local activity that gives no result leaves the call to an ordinary one (ADR 0051).
 * Of a tool that is Temporal code, the call only says what the workflow is to start, and a second one brings the result in (ADR 0058).
 * Errors: ApplicationFailure with a system failure code, `worker_lost` of an attempt that no longer counts; everything that the model can correct is in the result.
 */
export async function runTool(
  deps: ActivityDeps,
  sent: RunToolInput | SentToolCall,
): Promise<RunToolResult> {
  let progress = '';
  const { attempt } = Context.current().info;
  const { beat, reportingEnd, lostWorkers } = countedAttempt();
  const show = (text: string): void => {
    progress = text;
  };
  return withHeartbeat(
    () => beat(progress),
    (isGivenUp) =>
      reportingEnd(async () => {
        const run = async (): Promise<RunToolResult> => {
          const input = await loadToolCall(deps, sent);
          const part = input.ended === undefined ? '' : ' ended';
          const call = `${input.storeId} ${input.idempotencyKey}${part}`;
          return afterEarlierAttempt(call, attempt, (stop) =>
            runAttempt(deps, input, { ...stop, isGivenUp, lostWorkers, show }),
          );
        };
        return sent.ended === undefined ? run() : untilStored(run);
      }),
    // A heartbeat of a call that has nothing to tell yet would only be billed.
    'later',
  );
}

/** Why a call may not run as it was approved, as its result: another definition, or no signed approval where one is needed. */
async function refusal(
  { approvers }: ActivityDeps,
  store: Store,
  definition: RunDefinition,
  tool: Tool,
  input: RunToolInput,
  values: { readonly given: JsonObject; readonly parsed: unknown },
): Promise<FinishedExecution | undefined> {
  const changed = await changedDefinition(store, tool, input, values.given);
  if (changed !== undefined || approvers === undefined) return changed;
  const { toolCallId, approval } = input;
  const shown = approval?.shown && (await inputOf(store, { toolCallId, ...approval.shown }));
  const problem = problemOfApproval(approvers, definition, tool, input, {
    ...values,
    ...defined({ shown }),
  });
  if (problem === undefined) return undefined;
  // An attack, or a run from before signing.
  const { name, idempotencyKey: key } = input;
  log.warn('A call without the signed approval that it needs was not run', { tool: name, key });
  const error = toolFailure(tool, 'tool_denied', `The call was not run. ${problem}`, {
    hint: 'Do not repeat the call. Find another way, or end the task and say what is missing.',
    recoverable: false,
  });
  return { type: 'error', error };
}

/** What an attempt gets from earlier ones, and how it reports its progress. */
interface AttemptPlace extends AttemptSigns {
  readonly lostWorkers: number;
  readonly show: (progress: string) => void;
}

async function runAttempt(
  deps: ActivityDeps,
  input: RunToolInput,
  { lostWorkers, show, ...signs }: AttemptPlace,
): Promise<RunToolResult> {
  if (input.mayBeRepeat === true) throw lostOwnership('an earlier one may have ended its worker');
  const store = storeOf(deps, input.storeId);
  const definition = await loadDefinition(deps, input.definition);
  const tool = requireTool(definition, input.name);
  const { workspace, limits } = definition.config;
  const paths = { root: workspace, asGiven: tool.hidesPaths !== true };
  const place: ResultPlace = { store, input, workspace, paths };
  if (input.answer !== undefined) {
    const text = (await deps.subagents?.readAnswer(store, input.answer)) ?? '';
    const answered: FinishedExecution = { type: 'output', text };
    return keepResult(place, tool, answered, resultIdentityOf(tool, {}, answered));
  }
  const value = await inputOf(store, input);
  const attempt: Attempt = {
    tool,
    value,
    place,
    signs,
    lost: { count: lostWorkers, max: limits.maxLostWorkers },
    runningWith: (record) => ({
      ...place,
      run: runContextOf(definition),
      stopped: signs.stopped,
      start: startingOwned(signs, store, record),
      progress: (text: unknown) => {
        show(typeof text === 'string' ? sanitizeText(text, { maxChars: previewChars }) : '');
      },
    }),
    keep: (execution) => {
      const informed = advised(definition, execution, value);
      return keepResult(place, tool, informed, resultIdentityOf(tool, value, informed));
    },
  };
  return input.ended === undefined
    ? runCall(deps, definition, attempt)
    : bringIn(attempt, input.ended);
}

/** An attempt of a call, and what it needs to run the call and to keep what that gave. */
interface Attempt extends Pick<Earlier, 'lost'> {
  readonly tool: Tool;
  /** The model's arguments. */
  readonly value: JsonObject;
  readonly place: ResultPlace;
  readonly signs: AttemptSigns;
  readonly runningWith: (record?: OwnedTool & Marked) => ExecutionPlace;
  readonly keep: (execution: FinishedExecution) => Promise<RunToolResult>;
}

/** Brings in the result of ended work. It is done, whatever the tool's schema takes by now. */
async function bringIn(
  { tool, value, place, lost, runningWith, keep }: Attempt,
  end: WorkEnd,
): Promise<RunToolResult> {
  const known = await place.store.getTool(place.input.idempotencyKey);
  if (known.type === 'finished') return outcomeIn(known);
  const checked = tool.parse(value);
  const given = checked.ok ? checked.value : value;
  return keep(await executionOfWork(tool, given, runningWith(), { end, lost }));
}

async function runCall(
  deps: ActivityDeps,
  definition: RunDefinition,
  { tool, value, place, signs, lost, runningWith, keep }: Attempt,
): Promise<RunToolResult> {
  const { store, input } = place;
  const keepUnrun = (execution: FinishedExecution): Promise<RunToolResult> =>
    resultOf(place, execution, resultIdentityOf(tool, value, execution));
  const checked = tool.parse(value);
  if (!checked.ok) {
    const error = toolFailure(tool, 'invalid_params', checked.problems.join('; '), {
      hint: refusedInputHint(definition, tool, checked.hint),
    });
    return keepUnrun({ type: 'error', error });
  }
  const values = { given: value, parsed: checked.value };
  const refused = await refusal(deps, store, definition, tool, input, values);
  if (refused !== undefined) return keepUnrun(refused);
  const record = await begin(store, tool, input, { given: value, ran: checked.value }, signs);
  if (record?.type === 'finished') return outcomeIn(record);
  if (record?.type === 'taken') throw lostOwnership('a later attempt has begun');
  const answer = await answerCall(tool, checked.value, { record, lost }, runningWith(record));
  if (answer.type === 'recorded') return keepOutcome(input, answer.result, store);
  const { execution } = answer;
  return execution.type === 'work'
    ? { work: execution.work, preview: '', bytes: 0, fingerprint: '' }
    : keep(execution);
}
