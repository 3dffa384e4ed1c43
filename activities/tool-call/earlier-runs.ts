/** What the runs that a run goes on from did later than its transcript tells: the same action is answered by their records (ADR 0037). */
import { z } from 'zod';
import { mayHaveTakenEffect } from '../../workflows/core/errors/failure-policy';
import { previewChars } from '../../workflows/core/limits';
import { runKeyOf } from '../../workflows/core/tools/lineage';
import type { Lineage, Origin, RunToolResult } from '../../workflows/core/tools/ports';
import { canonicalJson } from '../stores/content-hash';
import type { RecordedTool, Store, ToolClaim, ToolIntent, ToolRecord } from '../stores/store';
import type { Tool } from '../tools/tool';
import { boundText } from '../untrusted/sanitizer';
import type { Execution, ExecutionPlace } from './tool-execution';
import { toolFailure } from './tool-execution';
import { outputText } from './tool-output';
import type { Earlier } from './unknown-outcome';
import { askProbe, decideExecution, unknownOutcome } from './unknown-outcome';

/** The outcome of a finished execution: written by the activity `runTool`, and checked by the store. */
export function outcomeIn({ outcome }: Extract<ToolRecord, { type: 'finished' }>): RunToolResult {
  return JSON.parse(outcome) as RunToolResult;
}

/** Whether it is known what became of a call. */
function isKnown({ isOutcomeUnknown, error }: RunToolResult): boolean {
  return isOutcomeUnknown !== true && (error === undefined || !mayHaveTakenEffect(error.code));
}

/** Whether a call took effect, for all that its record says. */
function mayHaveHappened(record: RecordedTool): boolean {
  if (record.type !== 'finished') return true;
  const outcome = outcomeIn(record);
  return outcome.error === undefined || !isKnown(outcome);
}

/** Whether the transcript of the run that goes on from `origin` has the result of an execution in the same tree of runs. */
function isTold(
  { runKey, iteration, told = [] }: Origin,
  { key, iteration: own = 0, callers = [] }: ToolIntent,
): boolean {
  const place = [...callers, { key, iteration: own }].find((call) => runKeyOf(call.key) === runKey);
  // Of another run of the tree, whose transcript has nothing to do with this one.
  if (place === undefined) return true;
  return place.iteration <= iteration || told.some((id) => place.key === `${runKey}/${id}`);
}

/** Key of the first execution of the same action that earlier runs have done and no call of this one is answered by. */
async function sourceOf(
  store: Store,
  { key, tool, inputDigest, callers }: ToolIntent,
  origins: readonly Origin[],
): Promise<string | undefined> {
  const done: string[] = [];
  const used = new Set<string>();
  for (const origin of origins) {
    const runKey = origin.treeKey ?? origin.runKey;
    for (const record of await store.toolsOf({ runKey, tool, inputDigest })) {
      const { intent } = record;
      const isInTranscript = isTold(origin, intent);
      if (intent.source !== undefined) {
        // It did nothing itself: what answered it is its run's, up to the point from which this run goes on.
        if (isInTranscript) used.add(intent.source);
      } else if (!isInTranscript && mayHaveHappened(record)) done.push(intent.key);
    }
  }
  const ownTree = runKeyOf(callers?.[0]?.key ?? key);
  for (const { intent } of await store.toolsOf({ runKey: ownTree, tool, inputDigest }))
    if (intent.source !== undefined) used.add(intent.source);
  return done.find((source) => !used.has(source));
}

/**
 * Begins an execution, bound to what answers it if an earlier run has done the same: the n-th call of an action to the n-th
 * execution of it.
 *
 * Contract: looked up at the time of the call, so that what an earlier run does meanwhile is known. The record keeps what answers
 * it over attempts, and no two calls of a run and its subagents are answered by the same execution.
 */
export async function beginAfter(
  store: Store,
  intent: ToolIntent,
  { origins = [], repeatEffects = [] }: Partial<Lineage>,
  scheduledAtMs: number,
): Promise<Exclude<ToolClaim, { type: 'source-used' }>> {
  const mayBeAnswered = origins.length > 0 && !repeatEffects.includes(intent.tool);
  for (;;) {
    const source = mayBeAnswered ? await sourceOf(store, intent, origins) : undefined;
    const bound = source === undefined ? intent : { ...intent, source };
    const claim = await store.beginTool(bound, scheduledAtMs);
    if (claim.type !== 'source-used') return claim;
  }
}

/** A tool's result as `run-tool.ts` stores it. */
const storedSchema = z.looseObject({ content: z.string() });

function when({ startedAtMs }: ToolIntent): string {
  return new Date(startedAtMs).toISOString();
}

/** The workflow id of the run that a call belongs to. */
function runOf({ key }: ToolIntent): string {
  return runKeyOf(runKeyOf(key));
}

/** The recorded result, with a line for the model that says whose it is. */
async function recordedResult(
  store: Store,
  intent: ToolIntent,
  outcome: RunToolResult,
): Promise<RunToolResult> {
  const run = `run "${runOf(intent)}", from which this run goes on`;
  const line =
    outcome.error === undefined
      ? `[Done at ${when(intent)} by ${run}. It was not done again; this is the result of then.]`
      : `[Tried at ${when(intent)} by ${run}. It did not take effect and was not tried again; this is the error of then.]`;
  const json = (await store.getBlob(outcome.result ?? '')).toString('utf8');
  const stored = storedSchema.parse(JSON.parse(json));
  const content = `${line}\n${stored.content}`;
  return {
    ...outcome,
    result: await store.putBlob(canonicalJson({ ...stored, content })),
    preview: boundText(`${line} ${outcome.preview}`, previewChars),
  };
}

/** What a call is answered with whose action an earlier run has done: a result to keep as it is, or an execution. */
export type EarlierAnswer =
  | { readonly type: 'recorded'; readonly result: RunToolResult }
  | { readonly type: 'execution'; readonly execution: Execution };

/**
 * Answers a call by the execution `source` of an earlier run.
 *
 * Contract: what is known is told, with the record's result; for an irreversible tool whose author wants a person to be asked, a
 * person is asked. Of what is not known, `keyed` is repeated under the key of then, and `reconcilable` probed with it; otherwise
 * the outcome is unknown. A change of a file that its probe no longer finds is made again, for a file is what was last written.
 * Nothing else is done again.
 * Errors: as `decideExecution` and the store.
 */
export async function answerOfEarlierRun(
  tool: Tool,
  value: unknown,
  source: string,
  earlier: Earlier,
  place: ExecutionPlace,
): Promise<EarlierAnswer> {
  const { store, input } = place;
  const underItsKey = { ...place, input: { ...input, idempotencyKey: source } };
  const again = async (): Promise<EarlierAnswer> => ({
    type: 'execution',
    execution: await decideExecution(tool, value, earlier, underItsKey),
  });
  const probed = () => tool.probe && askProbe(tool, underItsKey, value, tool.probe);
  const record = await store.getTool(source);
  if (record.type === 'none')
    return { type: 'execution', execution: unknownOfThen(tool, source, 'its record is gone') };
  const outcome = record.type === 'finished' ? outcomeIn(record) : undefined;
  if (outcome !== undefined && isKnown(outcome)) {
    const isDone = outcome.error === undefined;
    if (isDone && tool.effect === 'irreversible' && tool.onUnknown === 'ask-person')
      return { type: 'execution', execution: askWhetherAgain(tool, record.intent, outcome) };
    if (isDone && tool.editsFile !== undefined && (await probed())?.type === 'not-applied')
      return again();
    const result = await recordedResult(store, record.intent, outcome);
    return { type: 'recorded', result };
  }
  if (tool.effect === 'keyed') return again();
  const answer = await probed();
  if (answer?.type === 'applied')
    return { type: 'execution', execution: { type: 'output', text: outputText(answer.output) } };
  const evidence = [
    outcome?.error?.message ?? 'its outcome is not recorded',
    ...(answer === undefined ? [] : [evidenceOf(answer)]),
  ].join('; ');
  return { type: 'execution', execution: unknownOfThen(tool, source, evidence, record.intent) };
}

function evidenceOf(answer: Awaited<ReturnType<typeof askProbe>>): string {
  return answer.type === 'unknown' ? answer.evidence : 'its probe has not found it so far';
}

function unknownOfThen(
  tool: Tool,
  source: string,
  evidence: string,
  intent?: ToolIntent,
): Execution {
  const run = runKeyOf(runKeyOf(source));
  const at = intent === undefined ? '' : ` at ${when(intent)}`;
  return unknownOutcome(
    tool,
    `Run "${run}", from which this run goes on, began the same call${at}`,
    evidence,
  );
}

/** The outcome is known; what is not is whether the same is wanted once more. */
function askWhetherAgain(tool: Tool, intent: ToolIntent, { preview }: RunToolResult): Execution {
  return {
    type: 'error',
    isOutcomeUnknown: true,
    error: toolFailure(
      tool,
      'outcome_unknown',
      `Run "${runOf(intent)}", from which this run goes on, made the same call at ${when(intent)} and reported: ${preview}. It is not run again.`,
      { hint: 'Take it as done by that run unless you find out otherwise.' },
    ),
  };
}
