/** Where a run's transcript stood after each iteration, from its history: what forks and readers of transcripts begin with. */
import type { AgentRunInput } from '../../workflows/contract';
import { prepareCallId } from '../../workflows/core/run/protocol';
import type { CallModelResult, ModelCallHeldBack } from '../../workflows/core/model-call/ports';
import type { CompactResult } from '../../workflows/core/context/ports';
import { defined } from '../../workflows/core/json';
import type { AgentSnapshot, PrepareRunResult, RunRequest } from '../../workflows/core/run/ports';
import type { RunState } from '../../workflows/core/run/state';
import type { Origin } from '../../workflows/core/tools/ports';
import { runKeyOf } from '../../workflows/core/tools/lineage';
import { ClientError } from '../client-error';
import type { HistoryFact } from './facts';
import type { RunAccess } from '../run-access';
import { readFacts } from './read-history';
import { statusOf } from '../run-status';
import { readingHistory } from '../temporal-failure';

/** A point of a run's transcript. */
export interface TranscriptPoint {
  readonly head: string;
  readonly storeId: string;
  /** What the run was asked for. */
  readonly request: RunRequest;
  /** The origins of a run that begins here; this run is the last of them. */
  readonly origins: readonly Origin[];
  /** The run's definition, if it holds a context. */
  readonly contextOf?: string;
  /** The agent that acts after that iteration, if the run was handed over. */
  readonly actingAgent?: string;
}

/** A run's history, page by page. */
type Facts = AsyncIterable<readonly HistoryFact[]>;

interface Heads {
  request: RunRequest | undefined;
  runKey: string;
  storeId: string | undefined;
  contextOf: string | undefined;
  /** Before anything that an iteration did: with the results of the one before. */
  readonly before: Map<number, string>;
  /** The agent that acts after an iteration. */
  readonly agents: Map<number, string>;
  /** After the last that an iteration did; 0 is the run's preparation. */
  readonly after: Map<number, string>;
}

function takeSnapshot(
  heads: Heads,
  { agent, storeId, hasContext, definition }: AgentSnapshot,
  iteration: number,
): void {
  heads.agents.set(iteration, agent);
  heads.storeId = storeId;
  heads.contextOf = hasContext === true ? definition : undefined;
}

function takeResult(
  heads: Heads,
  { activityId, result }: Extract<HistoryFact, { type: 'activity-completed' }>,
): void {
  if (activityId === prepareCallId) {
    // Written by the activity `prepareRun`; history is its record.
    const { head, snapshot } = result as PrepareRunResult;
    heads.after.set(0, head);
    takeSnapshot(heads, snapshot, 0);
  }
  const [, handedOver] = /^h(\d+)$/.exec(activityId) ?? [];
  if (handedOver !== undefined)
    takeSnapshot(heads, (result as PrepareRunResult).snapshot, Number(handedOver));
  // A model call or compaction has the id `m12`, `m12.1` or `c12`.
  const [, found] = /^[mc](\d+)(?:\.\d+)?$/.exec(activityId) ?? [];
  if (found === undefined) return;
  const iteration = Number(found);
  const made = result as CallModelResult | ModelCallHeldBack | CompactResult;
  if (!heads.before.has(iteration)) heads.before.set(iteration, made.headBefore);
  heads.after.set(iteration, 'head' in made ? made.head : made.headBefore);
}

function takeStart(heads: Heads, { request, state }: AgentRunInput): void {
  heads.request ??= request;
  if (state === undefined) return;
  const { snapshot, head } = state;
  const iteration = iterationOf(state);
  if (snapshot !== undefined) takeSnapshot(heads, snapshot, iteration);
  // Earlier segments may be past their retention: what they passed on is known.
  if (head !== undefined && !heads.after.has(iteration)) heads.after.set(iteration, head);
}

/** The iteration that the head stands after: an iteration that still waits for its model call has not moved it. */
function iterationOf({ phase, counters, next }: RunState): number {
  const isUnread = next.pendingResults.length + (next.runtimeResults ?? []).length > 0;
  const isBeforeCall = phase.type === 'waiting' && phase.then === 'call-model';
  return isBeforeCall && isUnread ? counters.iterations - 1 : counters.iterations;
}

async function headsOf(facts: Facts, runId: string): Promise<Heads> {
  const heads: Heads = {
    request: undefined,
    runKey: '',
    storeId: undefined,
    contextOf: undefined,
    before: new Map(),
    agents: new Map(),
    after: new Map(),
  };
  const take = (fact: HistoryFact): void => {
    if (fact.type === 'segment-began') {
      heads.runKey = `${runId}/${fact.firstRunId}`;
      takeStart(heads, fact.input as AgentRunInput);
    }
    if (fact.type === 'activity-completed') takeResult(heads, fact);
  };
  for await (const page of facts)
    readingHistory(runId, () => {
      page.forEach(take);
    });
  return heads;
}

/**
 * The transcript after iteration `iteration` (0: before the first), with the results of its tool calls where a later model
 * call has brought them in; without `iteration` as it is now.
 *
 * Errors: `invalid-input` for an iteration that the run has not reached, or that history no longer contains.
 */
export async function transcriptPoint(
  access: RunAccess,
  iteration?: number,
): Promise<TranscriptPoint> {
  const { client, runId } = access;
  const headNow = async (): Promise<string | undefined> => (await statusOf(access)).head;
  // Each segment begins with the request, and with what the ones before have led to.
  const facts = readFacts(client, runId, iteration === undefined ? { fromSegment: Infinity } : {});
  return pointIn(facts, runId, iteration, headNow);
}

/** Where the transcript is: as `transcriptPoint`, but the present one without its history. */
export async function transcriptHead(
  access: RunAccess,
  iteration?: number,
): Promise<Pick<TranscriptPoint, 'head' | 'storeId'>> {
  if (iteration !== undefined) return transcriptPoint(access, iteration);
  const { head, storeId } = await statusOf(access);
  if (head === undefined || storeId === undefined) throw noTranscript(access.runId);
  return { head, storeId };
}

/** Key of the run that started the tree; undefined for one that nobody called. */
function treeKeyOf({ parent }: RunRequest): string | undefined {
  return parent?.callers?.map(({ key }) => runKeyOf(key))[0];
}

function noTranscript(runId: string): ClientError {
  return new ClientError('no-transcript', `Run "${runId}" has no transcript yet.`);
}

/** The same in the facts of the history of the run `runId`. */
export async function pointIn(
  facts: Facts,
  runId: string,
  iteration: number | undefined,
  headNow: () => Promise<string | undefined>,
): Promise<TranscriptPoint> {
  const heads = await headsOf(facts, runId);
  const last = Math.max(0, ...heads.before.keys(), ...heads.after.keys());
  const { request, storeId, runKey, contextOf } = heads;
  if (request === undefined || storeId === undefined) throw noTranscript(runId);
  const head =
    iteration === undefined
      ? await headNow()
      : (heads.before.get(iteration + 1) ?? heads.after.get(iteration));
  if (head === undefined)
    throw new ClientError(
      'invalid-input',
      `Run "${runId}" has no transcript after iteration ${String(iteration)}: it has come to iteration ${last}, and what is past the retention of its history is not known.`,
    );
  const treeKey = readingHistory(runId, () => treeKeyOf(request));
  // Until a later model call adds them, the results of the iteration's tools are not in the transcript.
  const reached = iteration ?? last - 1;
  const origin: Origin = {
    runKey,
    iteration: iteration === undefined || heads.before.has(iteration + 1) ? reached : reached - 1,
    ...defined({ treeKey }),
  };
  const origins = [...(request.origins ?? []), origin];
  const actingAgent = handedToIn(heads, request, iteration);
  return { head, storeId, request, origins, ...defined({ contextOf, actingAgent }) };
}

/** The agent that acts after the iteration, where it is not the one that the run was started with. */
function handedToIn(
  { agents }: Heads,
  { agent }: RunRequest,
  iteration = Infinity,
): string | undefined {
  const [, acting] = [...agents].findLast(([at]) => at <= iteration) ?? [];
  return acting === agent ? undefined : acting;
}
