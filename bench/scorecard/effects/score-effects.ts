/** Kills workers at every point of a tool's life and counts what the world and the model know afterwards. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../../activities/stores/store';
import { openStore } from '../../../activities/stores/open-store';
import type { AgentClient } from '../../../client/agent-client';
import { connect } from '../../../client/connect';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { reply } from '../../../testing/emulator/script';
import { startEmbeddedServer } from '../../../workers/temporal-server/embedded-server';
import type { SectionScore } from '../section';
import type { Bank } from './bank';
import { startBank } from './bank';
import { toolName } from './bank-tools';
import type { CallVerdict, Reported } from './judge-call';
import { judgeCall } from './judge-call';
import type { PlannedCall } from './kill-plan';
import { planKills } from './kill-plan';
import type { WorkerCrew } from './worker-crew';
import { effectsAgent, effectsTaskQueue, startCrew } from './worker-crew';

/** How many kills, and how they are spread. */
export interface EffectsOptions {
  /** Calls to kill, each at a planned point. Default 500 (docs/results.md). */
  readonly kills?: number;
  /** Runs that begin under one worker; each has up to five calls in flight. Default 5. */
  readonly runsAtOnce?: number;
  /** Default 6,000: a living worker on a busy machine must not pass for a dead one, or its calls are not where they were planned. */
  readonly heartbeatTimeoutMs?: number;
  /** What Node needs to run the worker's script, where it is not compiled. */
  readonly execArgv?: readonly string[];
}

const defaultKills = 500;
const defaultRunsAtOnce = 5;
const defaultHeartbeatTimeoutMs = 6_000;
/** Milliseconds until every call of a batch is held. */
const holdTimeoutMs = 60_000;
/** Milliseconds until every run has ended after the last kill. */
const endTimeoutMs = 120_000;
const lookEveryMs = 50;
/** Milliseconds between two looks for what a run asks. */
const askEveryMs = 500;

interface World {
  readonly bank: Bank;
  readonly client: AgentClient;
  readonly crew: WorkerCrew;
  readonly store: Store;
}

/** Waits until something holds, but not forever; returns whether it does. */
async function waitFor(holds: () => boolean, timeoutMs: number): Promise<boolean> {
  const endsAt = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() > endsAt) return false;
    await sleep(lookEveryMs);
  }
  return true;
}

/** Starts these runs; the emulated model asks for the calls that the goal names. */
async function startRuns(client: AgentClient, runs: ReadonlyMap<string, readonly PlannedCall[]>) {
  for (const [runId, calls] of runs) {
    const goal = JSON.stringify(calls.map(({ tool, id }) => ({ tool, id })));
    await client.start({ agent: effectsAgent, goal, runId });
  }
}

/** Calls with a point that is still to come. */
function pendingKills(bank: Bank, calls: readonly PlannedCall[]): number {
  return calls.filter(({ id, points }) => bank.killsOf(id).length < points.length).length;
}

/** Starts runs batch by batch, and kills the worker each time that all calls stand where they are to be killed. */
async function killThrough(
  { bank, client, crew }: World,
  batches: readonly ReadonlyMap<string, readonly PlannedCall[]>[],
): Promise<void> {
  const begun: PlannedCall[] = [];
  for (let batch = 0; batch < batches.length || pendingKills(bank, begun) > 0; batch++) {
    const runs = batches[batch] ?? new Map<string, readonly PlannedCall[]>();
    begun.push(...[...runs.values()].flat());
    await startRuns(client, runs);
    const waiting = pendingKills(bank, begun);
    // Before the look, since a call that begins between look and kill is killed where nobody planned it.
    await crew.standsBy();
    await waitFor(() => bank.held().length >= waiting && bank.isQuiet(), holdTimeoutMs);
    // What is not held by now never will be: it is judged as not killed.
    if (bank.held().length === 0) return;
    await crew.killAndReplace(
      () => {
        bank.strike();
      },
      () => bank.killed(),
    );
  }
}

/** Answers questions about the outcome of a call, as a person would who looks at the ledger of the bank. */
async function answerQuestions({ client, bank }: World, runId: string): Promise<void> {
  for (const item of await client.run(runId).pending()) {
    if (item.type !== 'question' || !item.question.includes('is not known')) continue;
    const isApplied = bank.ledger.some((entry) => entry.callId === `${runId}:ask`);
    await client
      .run(runId)
      .answer(item.questionId, isApplied ? 'It was paid.' : 'It was not paid.');
  }
}

function reportedOf(content: string, isError: boolean): Reported {
  if (content.includes('a person looked into what came of it')) return { type: 'person' };
  if (content.includes('"code":"outcome_unknown"') && content.includes('is not known'))
    return { type: 'unknown' };
  return isError ? { type: 'failed', content: content.slice(0, 200) } : { type: 'done' };
}

/** What the transcript reports about each call of a run, by tool name. */
async function readReported(
  world: World,
  runId: string,
): Promise<ReadonlyMap<string, Reported> | string> {
  const handle = world.client.run(runId);
  const late = sleep(endTimeoutMs, 'the run has not ended', { ref: false });
  const outcome = await Promise.race([handle.outcome(), late]);
  if (typeof outcome === 'string') return outcome;
  if (outcome.status !== 'completed' || outcome.report.head === undefined)
    return `the run ended as ${outcome.status}: ${'reason' in outcome ? outcome.reason : ''}`;
  const messages = await world.store.loadTranscript(outcome.report.head);
  const results = messages.flatMap((message) => (message.role === 'tool' ? message.results : []));
  return new Map(results.map(({ name, content, isError }) => [name, reportedOf(content, isError)]));
}

async function judgeRun(
  world: World,
  runId: string,
  calls: readonly PlannedCall[],
): Promise<readonly CallVerdict[]> {
  const asks = calls.some(({ tool }) => tool === 'ask');
  const ended = readReported(world, runId).catch((thrown: unknown) => String(thrown));
  let reported: Awaited<typeof ended> | undefined;
  while (reported === undefined) {
    if (asks) await answerQuestions(world, runId).catch(() => undefined);
    reported = await Promise.race([ended, sleep(askEveryMs, undefined)]);
  }
  return calls.map((call) => {
    const of: Reported =
      typeof reported === 'string'
        ? { type: 'nothing', why: reported }
        : (reported.get(toolName(call.tool)) ?? { type: 'nothing', why: 'no result' });
    return judgeCall(call, of, world.bank.ledger, world.bank.killsOf(call.id));
  });
}

function byRun(calls: readonly PlannedCall[]): ReadonlyMap<string, readonly PlannedCall[]> {
  const runs = new Map<string, readonly PlannedCall[]>();
  for (const call of calls) runs.set(call.runId, [...(runs.get(call.runId) ?? []), call]);
  return runs;
}

function batchesOf<Value>(
  runs: ReadonlyMap<string, Value>,
  size: number,
): readonly ReadonlyMap<string, Value>[] {
  const entries = [...runs];
  const count = Math.ceil(entries.length / size);
  return Array.from(
    { length: count },
    (_, index) => new Map(entries.slice(index * size, (index + 1) * size)),
  );
}

/** Runs `work` with the bank, the emulated model, Temporal, a store, and a crew of workers, all real. */
async function inEffectsWorld<Result>(
  bank: Bank,
  {
    execArgv = [],
    heartbeatTimeoutMs = defaultHeartbeatTimeoutMs,
  }: Pick<EffectsOptions, 'execArgv' | 'heartbeatTimeoutMs'>,
  work: (world: World) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-effects-'));
  const emulator = await VendorEmulator.start();
  emulator.script((request) => {
    if (request.messagesCount > 1) return reply.text('done');
    const planned = JSON.parse(request.lastUserText) as Pick<PlannedCall, 'tool' | 'id'>[];
    return reply.toolCalls(
      planned.map(({ tool, id }) => ({ name: toolName(tool), input: { callId: id } })),
    );
  });
  const url = `sqlite:${path.join(folder, 'store.db')}`;
  const store = await openStore(url);
  const server = await startEmbeddedServer({
    logFile: path.join(folder, 'temporal.log'),
    untilExitOf: process.pid,
  });
  const client = await connect({ address: server.address, taskQueue: effectsTaskQueue });
  const settings = {
    temporalAddress: server.address,
    store: url,
    emulatorUrl: emulator.baseUrl('anthropic'),
    bankUrl: bank.url,
    heartbeatTimeoutMs,
  };
  const crew = await startCrew(settings, execArgv);
  try {
    return await work({ bank, client, crew, store });
  } finally {
    await crew.dismiss();
    await client.close();
    await server.stop();
    await store.close();
    await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Plays the section.
 *
 * Contract: a kill is counted for each call that stood at its planned point when its worker process got SIGKILL; one SIGKILL
 * meets some twenty calls, and the table's last row says how many processes were killed.
 */
export async function scoreEffects(options: EffectsOptions = {}): Promise<SectionScore> {
  const { kills = defaultKills, runsAtOnce = defaultRunsAtOnce } = options;
  const calls = planKills(kills);
  const runs = byRun(calls);
  const bank = await startBank();
  bank.plan(calls);
  try {
    const [verdicts, processes] = await inEffectsWorld(bank, options, async (world) => {
      await killThrough(world, batchesOf(runs, runsAtOnce));
      const judged = await Promise.all(
        [...runs].map(([runId, ofRun]) => judgeRun(world, runId, ofRun)),
      );
      return [judged.flat(), world.crew.kills()] as const;
    });
    const count = (is: (verdict: CallVerdict) => boolean): number => verdicts.filter(is).length;
    const done = calls.reduce((sum, { id }) => sum + bank.killsOf(id).length, 0);
    const expectedOf = (call: PlannedCall | undefined): string => call?.points.join(', ') ?? '';
    return {
      summary: {
        kills: done,
        duplicateEffects: count(({ isDuplicate }) => isDuplicate),
        lostKeyedEffects: count(({ isLost }) => isLost),
        undecided: count(({ isUndecided }) => isUndecided),
      },
      rows: [
        ...verdicts.map(({ callId, wrong }) => {
          const expected = expectedOf(calls.find(({ id }) => id === callId));
          return {
            id: callId,
            expected,
            ...(wrong === undefined ? {} : { wrong: { id: callId, expected, got: wrong } }),
          };
        }),
        { id: `${processes} worker processes killed`, expected: `${done} calls at their points` },
      ],
    };
  } finally {
    await bank.stop();
  }
}
