/** Waits until every run has ended, or none gets any further, and reads what everything came to. */
import { setTimeout as delay } from 'node:timers/promises';
import { billedPicoUsd } from '../../testing/emulator/price-list';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import { z } from 'zod';
import type { Received } from '../scorecard/gateway/event-client';
import type { ChaosRecord, SeenClient, SeenEnd, SeenJob, SeenRequest } from './check';
import { runProgram } from './command';
import type { Job } from './jobs';
import type { JobMemory, ModelMemory } from './model';
import type { World } from './world';

/** What the chaos knows of a job while it is done. */
export interface StartedJob {
  readonly job: Job;
  readonly runId?: string;
}

/** Milliseconds between two looks at the runs that have not ended. */
const lookEveryMs = 3_000;
/** Milliseconds without any request, effect or end after which the runs count as stuck. */
const stuckMs = 240_000;
/** Milliseconds for readers of events to reach the end of their streams. */
const readersMs = 60_000;
/** Milliseconds between two tries at a server that was restarted. */
const retryMs = 1_000;
const tries = 30;

/** Tries again while the server comes back. Errors: the last one. */
async function again<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let left = tries; ; left -= 1) {
    try {
      return await work();
    } catch (thrown) {
      if (left === 0) throw thrown;
      await delay(retryMs);
    }
  }
}

/** Waits for the ends of these runs; resolves with those that have ended. */
async function awaitEnds(
  { client, emulator, bank }: World,
  runIds: readonly string[],
  say: (line: string) => void,
): Promise<ReadonlySet<string>> {
  const ended = new Set<string>();
  let progress = '';
  let changedMs = Date.now();
  while (ended.size < runIds.length && Date.now() - changedMs < stuckMs) {
    for (const runId of runIds.filter((each) => !ended.has(each))) {
      const status = await client
        .run(runId)
        .summary()
        .then(
          (summary) => summary.status,
          () => 'running',
        );
      if (status !== 'running' && status !== 'waiting') ended.add(runId);
    }
    const now = `${ended.size} ${emulator.requests.length} ${bank.ledger.length}`;
    if (now !== progress) changedMs = Date.now();
    progress = now;
    await delay(lookEveryMs);
  }
  say(`${ended.size} of ${runIds.length} runs have ended`);
  return ended;
}

function answerOf(outcome: RunOutcome): string | undefined {
  if (outcome.status !== 'completed') return undefined;
  return outcome.output === undefined ? outcome.answer : JSON.stringify(outcome.output);
}

function costOf({ report: { cost } }: RunOutcome): SeenEnd['cost'] {
  const { usd: expected, estimatedUsd = 0, mostUsd } = cost;
  if (expected === undefined) return undefined;
  return { known: expected - estimatedUsd, expected, most: mostUsd ?? expected };
}

async function readEnd(
  { client, taskQueue }: World,
  runId: string,
  isEnded: boolean,
): Promise<SeenEnd> {
  const run = client.run(runId);
  const outcome = isEnded ? await again(() => run.outcome()) : undefined;
  if (outcome?.status === 'completed') {
    const [answer, cost] = [answerOf(outcome), costOf(outcome)];
    return { status: 'completed', ...(answer && { answer }), ...(cost && { cost }) };
  }
  const { status, cause, paragraph } = await again(() => run.why(taskQueue));
  const cost = outcome && costOf(outcome);
  return { status, why: { cause, paragraph }, ...(cost && { cost }) };
}

function seenRequest({ atMs, model, answer, progress }: RecordedRequest): SeenRequest {
  const { usage, abandoned } = progress;
  const step = answer.type === 'step' ? answer.step : undefined;
  return {
    ...{
      atMs,
      model,
      abandoned,
      answer: step?.type === 'fault' ? step.name : (step ?? answer).type,
    },
    ...(usage && { usage }),
    billUsd: usage === undefined ? 0 : (billedPicoUsd(model, usage) ?? NaN) / 1e12,
  };
}

async function readJob(
  world: World,
  { job, runId }: StartedJob,
  ended: ReadonlySet<string>,
  memory: JobMemory | undefined,
): Promise<SeenJob> {
  const end =
    runId === undefined
      ? { status: 'never started' }
      : await readEnd(world, runId, ended.has(runId));
  return {
    ...{ job, end, ...(runId && { runId }) },
    results: Object.fromEntries(memory?.results ?? []),
    changed: [...(memory?.changed ?? [])],
    requests: (memory?.requests ?? []).map(seenRequest),
  };
}

async function eventIds({ client }: World, runId: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of client.run(runId).events()) ids.push(id);
  return ids;
}

async function readClients(
  world: World,
  ended: ReadonlySet<string>,
  readers: ReadonlyMap<string, Promise<Received>>,
): Promise<readonly SeenClient[]> {
  const late = delay(readersMs, undefined, { ref: false });
  const clients: SeenClient[] = [];
  for (const runId of ended) {
    const received = await Promise.race([readers.get(runId), late]);
    const { ids = [], status } = received ?? {};
    const all = await again(() => eventIds(world, runId));
    clients.push({ runId, ids, all, ...(status && { status }) });
  }
  return clients;
}

/** Runs of the task queue that nobody started and no run called. */
async function readStrangers(
  { temporal, taskQueue }: World,
  runIds: readonly string[],
): Promise<readonly string[]> {
  const known = new Set(runIds);
  const query = `TaskQueue = '${taskQueue}' AND WorkflowType = 'agentRun'`;
  const strangers = new Set<string>();
  for await (const { workflowId, parentExecution } of temporal.workflow.list({ query }))
    if (!known.has(workflowId) && parentExecution?.workflowId == null) strangers.add(workflowId);
  return [...strangers].map((runId) => `a run that nobody started: ${runId}`);
}

const replayLine = z.object({
  history: z.string(),
  ok: z.boolean(),
  mismatch: z.string().optional(),
});
const replayedAtOnce = 10;

/** Replays every history with the workflow code, as `holdfast replay` does. */
async function readMismatches(
  { environment, folder }: World,
  runIds: readonly string[],
): Promise<readonly string[]> {
  const mismatches: string[] = [];
  for (let start = 0; start < runIds.length; start += replayedAtOnce) {
    const some = runIds.slice(start, start + replayedAtOnce);
    const output = await again(() =>
      runProgram(['replay', '--json', '--run-id', ...some], environment, folder),
    );
    const lines = output
      .trim()
      .split('\n')
      .slice(0, -1)
      .map((line) => replayLine.parse(JSON.parse(line)));
    for (const { history, ok, mismatch = '' } of lines)
      if (!ok) mismatches.push(`${history}: ${mismatch}`);
    if (lines.length < some.length)
      mismatches.push(`${some.length} runs, ${lines.length} histories`);
  }
  return mismatches;
}

/** Requests that are no model's fault: a vendor refuses them, or they belong to no job. */
function invalidRequestsOf({ emulator }: World, memory: ModelMemory): readonly string[] {
  const known = new Set([...memory.values()].flatMap(({ requests }) => requests));
  return emulator.requests.flatMap((request) => {
    const { answer, index, wire } = request;
    if (answer.type === 'refused')
      return [
        `request ${index} (${wire}) is refused: ${answer.error.message ?? answer.error.status}`,
      ];
    if (answer.type === 'unplanned') return [`request ${index} (${wire}): ${answer.problem}`];
    return known.has(request) ? [] : [`request ${index} (${wire}) belongs to no job`];
  });
}

/** Reads everything that the checker looks at. */
export async function collect(
  world: World,
  started: readonly StartedJob[],
  readers: ReadonlyMap<string, Promise<Received>>,
  memory: ModelMemory,
  say: (line: string) => void,
): Promise<Omit<ChaosRecord, 'faults' | 'notMade'>> {
  const { emulator, bank, exits } = world;
  const runIds = started.flatMap(({ runId }) => (runId === undefined ? [] : [runId]));
  const ended = await awaitEnds(world, runIds, say);
  await emulator.waitFor(({ requests }) => requests.every(({ progress }) => progress.finished));
  const jobs: SeenJob[] = [];
  for (const each of started) jobs.push(await readJob(world, each, ended, memory.get(each.job.id)));
  say('reading events and histories');
  return {
    ...{ jobs, ledger: [...bank.ledger] },
    clients: await readClients(world, ended, readers),
    strangers: await again(() => readStrangers(world, runIds)),
    invalidRequests: invalidRequestsOf(world, memory),
    mismatches: await readMismatches(world, [...ended]),
    exits: [...exits],
  };
}
