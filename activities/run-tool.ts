/** The activity `runTool`: at most the effect that the tool declares, whatever dies in between. */
import { Context, log } from '@temporalio/activity';
import type { Attachment } from '../workflows/core/message';
import { toToolResponse } from '../workflows/core/errors/tool-response';
import type { JsonObject } from '../workflows/core/json';
import { defined } from '../workflows/core/json';
import { previewChars } from '../workflows/core/limits';
import type {
  Lineage,
  ResultIdentity,
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
import { retryFor } from './lifecycle/retry-for';
import { fenceToolOutput } from './untrusted/fence';
import { isStoreDown } from './lifecycle/infra-exception';
import { withKnownHint } from './knowledge/hint-from-knowledge';
import { resultIdentityOf } from './identity/result-identity';
import type { HiddenPaths } from './untrusted/sanitizer';
import { boundBytes, boundText, sanitizeText } from './untrusted/sanitizer';
import { reportsFailure } from './tool-call/reported-failure';
import type { OwnedTool, Store } from './stores/store';
import { canonicalJson } from './stores/content-hash';
import { actionDigest } from './tool-call/action-digest';
import { changedDefinition } from './tool-call/changed-definition';
import { executionOfWork, untilStored } from './tool-call/ended-work';
import type { AttemptSigns, Marked } from './tool-call/ownership';
import { inThisTurn, lostOwnership, requireCounted, startingOwned } from './tool-call/ownership';
import type { ExecutionPlace, FinishedExecution } from './tool-call/tool-execution';
import { toolFailure } from './tool-call/tool-execution';
import type { GivenOutput, ShownOutput } from './tool-call/tool-output';
import { showOutput } from './tool-call/tool-output';
import { keepMedia } from './media/check-media';
import { findingsOf } from './tool-call/findings';
import { problemOfApproval } from './tool-call/signed-approval';
import { inputOf, refusedInputHint, requireTool, runContextOf } from './tool-call/tool-of-run';
import type { Tool } from './tools/tool';
import type { Earlier } from './tool-call/unknown-outcome';
import { decideExecution } from './tool-call/unknown-outcome';

/** Milliseconds that a finished call waits for its store before its result is passed inline (ADR 0008). */
const storePatienceMs = 20_000;

/** Where a result is kept, and which paths it shows. */
interface ResultPlace extends Pick<ExecutionPlace, 'store' | 'input' | 'workspace'> {
  readonly paths: HiddenPaths;
}

/** What the model reads of an execution, and the whole if that is only a part. */
async function contentOf(
  { input, paths }: ResultPlace,
  store: Pick<Store, 'putBlob'>,
  execution: FinishedExecution,
): Promise<ShownOutput> {
  if (execution.type === 'output') return showOutput(store, input, paths, execution.text);
  const response = toToolResponse(execution.error);
  if (execution.output === undefined || execution.output.trim() === '')
    return {
      content: response,
      bytes: Buffer.byteLength(response),
      plain: execution.error.message,
      whole: '',
    };
  const shown = await showOutput(store, input, paths, execution.output);
  return { ...shown, content: `${response}\n${shown.content}`, plain: execution.error.message };
}

function errorOf(
  execution: FinishedExecution,
): Pick<RunToolResult, 'error' | 'isOutcomeUnknown' | 'saysFailed'> {
  if (execution.type === 'output')
    return reportsFailure(execution.text) ? { saysFailed: true } : {};
  const { error, isOutcomeUnknown } = execution;
  return { error, ...(isOutcomeUnknown === true ? { isOutcomeUnknown } : {}) };
}

/** Stores the images and documents of an output; undefined if it has none. */
function keptMedia(
  store: Pick<Store, 'putBlob'>,
  media: GivenOutput['media'],
): Promise<readonly Attachment[]> | undefined {
  return media && Promise.all(media.map((each) => keepMedia(store, each)));
}

async function resultOf(
  place: ResultPlace,
  execution: FinishedExecution,
  identity: ResultIdentity,
  store: Pick<Store, 'putBlob'> = place.store,
): Promise<RunToolResult> {
  const isError = execution.type === 'error';
  const { content, blob, bytes, plain, whole } = await contentOf(place, store, execution);
  const findings = isError ? undefined : findingsOf(whole, execution.text, place.workspace);
  const media = isError ? undefined : await keptMedia(store, execution.media);
  return {
    result: await store.putBlob(canonicalJson({ content, isError, ...defined({ blob, media }) })),
    preview: boundText(plain, previewChars),
    bytes,
    ...defined({ findings }),
    ...identity,
    ...errorOf(execution),
  };
}

/** The result of an execution whose store is down: inline, bounded and fenced. */
function inlineResult(
  { input, paths }: ResultPlace,
  execution: FinishedExecution,
  identity: ResultIdentity,
): RunToolResult {
  const isError = execution.type === 'error';
  const plain = isError
    ? execution.error.message
    : boundBytes(sanitizeText(execution.text, { maxChars: inlineChars, ...paths }), inlineBytes) +
      (execution.media === undefined ? '' : `\n${mediaNotKept}`);
  return {
    text: isError
      ? toToolResponse(execution.error)
      : fenceToolOutput(input.name, plain, input.toolCallId),
    preview: boundText(plain, previewChars),
    bytes: Buffer.byteLength(plain),
    ...identity,
    ...errorOf(execution),
  };
}

/** The text of the result says that they follow. */
const mediaNotKept =
  '[The images and documents of this result could not be stored, so they do not follow.]';

/** Characters of a result that is passed inline because the store is down. */
const inlineChars = 8_000;

/** The same in bytes of JSON, so that 64 such results stay far below what one payload may have (ADR 0003). */
const inlineBytes = 12_000;

/** Records a call's outcome, with what waits in `writer`; returns the first one that any attempt has recorded. */
async function keepOutcome(
  input: RunToolInput,
  result: RunToolResult,
  writer: Pick<Store, 'finishTool'>,
): Promise<RunToolResult> {
  const outcome = JSON.stringify(result);
  const kept = await writer.finishTool(input.idempotencyKey, outcome);
  if (kept === outcome) return result;
  const facts = { tool: input.name, key: input.idempotencyKey, dropped: result.preview };
  log.warn('The outcome of a call came after that of another attempt, and is dropped', facts);
  // Written by this function under the same key, and checked by the store.
  return JSON.parse(kept) as RunToolResult;
}

async function keepResult(
  place: ResultPlace,
  tool: Tool,
  execution: FinishedExecution,
  identity: ResultIdentity,
): Promise<RunToolResult> {
  // A local call keeps its workflow task waiting: the ordinary activity after it has the patience.
  const { isLocal } = Context.current().info;
  try {
    return await retryFor(isLocal ? 0 : storePatienceMs, isStoreDown, async () => {
      const batch = place.store.batch();
      const result = await resultOf(place, execution, identity, batch);
      if (tool.effect !== 'read') return keepOutcome(place.input, result, batch);
      await batch.commit();
      return result;
    });
  } catch (thrown) {
    if (isStoreDown(thrown) && !isLocal) return inlineResult(place, execution, identity);
    throw thrown;
  }
}

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
