/** Finds what earlier runs did after the point where a fork or a continued run begins: their records answer the same action (ADR 0037). */
import { z } from 'zod';
import { mayHaveTakenEffect } from '../../workflows/core/errors/failure-policy';
import { previewChars } from '../../workflows/core/limits';
import { runKeyOf } from '../../workflows/core/tools/lineage';
import type { Lineage, Origin, RunToolResult } from '../../workflows/core/tools/ports';
import { canonicalJson } from '../stores/content-hash';
import type {
  RecordedTool,
  Store,
  ToolClaim,
  ToolIntent,
  ToolPhase,
  ToolRecord,
} from '../stores/store';
import type { ProbeAnswer, Tool } from '../tools/tool';
import { boundText } from '../untrusted/sanitizer';
import type { Execution, ExecutionPlace } from './tool-execution';
import { givenOutput } from '../tool-output/tool-output';
import type { Earlier } from './unknown-outcome';
import { askAboutOutcome, askProbe, decideExecution, unknownOutcome } from './unknown-outcome';

/** The outcome of a finished execution: written by the activity `runTool`, and checked by the store. */
export function outcomeIn({ outcome }: Extract<ToolRecord, { type: 'finished' }>): RunToolResult {
  return JSON.parse(outcome) as RunToolResult;
}

/** Whether the outcome of a call is known. */
function isKnown({ isOutcomeUnknown, error }: RunToolResult): boolean {
  return isOutcomeUnknown !== true && (error === undefined || !mayHaveTakenEffect(error.code));
}

/** Whether a call may have taken effect, as far as its record says. */
function mayHaveHappened(record: RecordedTool): boolean {
  if (record.type !== 'finished') return true;
  const outcome = outcomeIn(record);
  return outcome.error === undefined || !isKnown(outcome);
}

/** Whether the transcript of the run that builds on `origin` has the result of an execution in the same tree of runs. */
function isInTranscript(
  { runKey, iteration, known = [] }: Origin,
  { key, iteration: own = 0, callers = [] }: ToolIntent,
): boolean {
  const place = [...callers, { key, iteration: own }].find((call) => runKeyOf(call.key) === runKey);
  // The execution is of another run of the tree, whose transcript is a different one.
  if (place === undefined) return true;
  return place.iteration <= iteration || known.some((id) => place.key === `${runKey}/${id}`);
}

/** Executions of one action: those of earlier runs, and those of them that already answer a call of this run. */
interface Done {
  readonly keys: readonly string[];
  readonly used: readonly string[];
}

/** The part of one earlier run in both. */
function doneBy(origin: Origin, records: readonly RecordedTool[]): Done {
  const [read, unread] = [true, false].map((isRead) =>
    records.filter(({ intent }) => isInTranscript(origin, intent) === isRead),
  );
  return {
    keys: (unread ?? []).flatMap((record) =>
      record.intent.source === undefined && mayHaveHappened(record) ? [record.intent.key] : [],
    ),
    used: sourcesOf(read ?? []),
  };
}

function sourcesOf(records: readonly RecordedTool[]): readonly string[] {
  return records.flatMap(({ intent: { source } }) => (source === undefined ? [] : [source]));
}

/** Key of the first execution of the same action by an earlier run that does not yet answer a call of this run. */
async function sourceOf(
  store: Store,
  { key, tool, inputDigest, callers }: ToolIntent,
  origins: readonly Origin[],
): Promise<string | undefined> {
  const recordsOf = (runKey: string) => store.toolsOf({ runKey, tool, inputDigest });
  const done = await Promise.all(
    origins.map(async (origin) => doneBy(origin, await recordsOf(origin.treeKey ?? origin.runKey))),
  );
  const own = sourcesOf(await recordsOf(runKeyOf(callers?.[0]?.key ?? key)));
  const used = new Set([...own, ...done.flatMap((each) => each.used)]);
  return done.flatMap(({ keys }) => keys).find((source) => !used.has(source));
}

/**
 * Begins an execution. If an earlier run did the same, binds the n-th call of the action to the n-th execution, which answers it.
 *
 * Contract: looks earlier runs up at the time of the call, so that what they do meanwhile is known. The record keeps its source
 * over attempts, and no execution answers two calls of a run and its subagents. What is not bound gets the phase.
 */
export async function beginAfter(
  store: Store,
  intent: ToolIntent,
  { origins = [], repeatEffects = [] }: Partial<Lineage>,
  scheduledAtMs: number,
  phase: ToolPhase,
): Promise<Exclude<ToolClaim, { type: 'source-used' }>> {
  const mayBeAnswered = origins.length > 0 && !repeatEffects.includes(intent.tool);
  for (;;) {
    const source = mayBeAnswered ? await sourceOf(store, intent, origins) : undefined;
    const bound = source === undefined ? intent : { ...intent, source };
    const claim = await store.beginTool(bound, scheduledAtMs, phase);
    if (claim.type !== 'source-used') return claim;
  }
}

/** A tool's result as `run-tool.ts` stores it. */
const storedSchema = z.looseObject({ content: z.string() });

function when({ startedAtMs }: ToolIntent): string {
  return new Date(startedAtMs).toISOString();
}

/** The workflow id of the run that a call belongs to. */
function runOf(key: string): string {
  return runKeyOf(runKeyOf(key));
}

/** The recorded result, with a line that tells the model which run it is from. */
async function recordedResult(
  store: Store,
  intent: ToolIntent,
  outcome: RunToolResult,
): Promise<RunToolResult> {
  const run = `run "${runOf(intent.key)}", which this run builds on`;
  const line =
    outcome.error === undefined
      ? `[Done at ${when(intent)} by ${run}. It was not done again; this is the original result.]`
      : `[Tried at ${when(intent)} by ${run}. It did not take effect and was not tried again; this is the original error.]`;
  const json = (await store.getBlob(outcome.result ?? '')).toString('utf8');
  const stored = storedSchema.parse(JSON.parse(json));
  const content = `${line}\n${stored.content}`;
  return {
    ...outcome,
    result: await store.putBlob(canonicalJson({ ...stored, content })),
    preview: boundText(`${line} ${outcome.preview}`, previewChars),
  };
}

/** The answer to a call whose action an earlier run has done: a result to keep as it is, or an execution. */
export type EarlierAnswer =
  | { readonly type: 'recorded'; readonly result: RunToolResult }
  | { readonly type: 'execution'; readonly execution: Execution };

const executed = (execution: Execution): EarlierAnswer => ({ type: 'execution', execution });

/** A call that is to be answered by the execution `source`; `place` has the original key. */
interface Answerable {
  readonly tool: Tool;
  readonly value: unknown;
  readonly source: string;
  readonly earlier: Earlier;
  readonly place: ExecutionPlace;
}

/** Executes the call under the original key. */
async function again({ tool, value, earlier, place }: Answerable): Promise<EarlierAnswer> {
  return executed(await decideExecution(tool, value, earlier, place));
}

/** What the tool's probe says about the original key; undefined without a probe. */
async function probed({ tool, value, place }: Answerable): Promise<ProbeAnswer | undefined> {
  return tool.probe && askProbe(tool, place, value, tool.probe);
}

/**
 * Answers a call by the execution `source` of an earlier run.
 *
 * Contract: a known outcome is answered with the recorded result; for an irreversible tool whose author wants it so, a person is
 * asked. If the outcome is not known, a `keyed` call is repeated under the original key, and a `reconcilable` one is probed with
 * it; otherwise the outcome is unknown. A change of a file that its probe no longer finds is made again, because a later write
 * may have replaced it. Nothing else is done again.
 * Errors: as `decideExecution` and the store.
 */
export async function answerOfEarlierRun(
  tool: Tool,
  value: unknown,
  source: string,
  earlier: Earlier,
  place: ExecutionPlace,
): Promise<EarlierAnswer> {
  const then = { ...place, input: { ...place.input, idempotencyKey: source } };
  const call: Answerable = { tool, value, source, earlier, place: then };
  const record = await place.store.getTool(source);
  if (record.type !== 'finished') return answerOpen(call, 'its outcome is not recorded', record);
  const outcome = outcomeIn(record);
  return isKnown(outcome)
    ? answerKnown(call, record.intent, outcome)
    : answerOpen(call, outcome.error?.message ?? '', record);
}

async function answerKnown(
  call: Answerable,
  intent: ToolIntent,
  outcome: RunToolResult,
): Promise<EarlierAnswer> {
  const { tool, place } = call;
  if (outcome.error === undefined) {
    if (tool.effect === 'irreversible' && tool.onUnknown === 'ask-person')
      return executed(askWhetherAgain(tool, intent, outcome));
    if (tool.editsFile !== undefined && (await probed(call))?.type === 'not-applied')
      return again(call);
  }
  return { type: 'recorded', result: await recordedResult(place.store, intent, outcome) };
}

async function answerOpen(
  call: Answerable,
  evidence: string,
  record: ToolRecord,
): Promise<EarlierAnswer> {
  const { tool, source } = call;
  if (tool.effect === 'keyed') return again(call);
  const answer = await probed(call);
  if (answer?.type === 'applied') return executed(await givenOutput(answer.output));
  const at = record.type === 'none' ? '' : ` at ${when(record.intent)}`;
  const what = `Run "${runOf(source)}", which this run builds on, began the same call${at}`;
  return executed(unknownOutcome(tool, what, [evidence, ...evidenceOf(answer)].join('; ')));
}

function evidenceOf(answer: Exclude<ProbeAnswer, { type: 'applied' }> | undefined): string[] {
  if (answer === undefined) return [];
  return [
    answer.type === 'unknown' ? answer.evidence : 'its probe has not found the effect so far',
  ];
}

/** The outcome is known, but not whether the same effect is wanted once more. */
function askWhetherAgain(tool: Tool, intent: ToolIntent, { preview }: RunToolResult): Execution {
  return askAboutOutcome(
    tool,
    `Run "${runOf(intent.key)}", which this run builds on, made the same call at ${when(intent)} and reported: ${preview}. It is not run again.`,
    'Assume that it is done unless you find out otherwise.',
  );
}
