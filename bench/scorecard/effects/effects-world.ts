/** What the faults of the effects section share: bank, model, Temporal, store, and how a run's end is read. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../../activities/stores/store';
import type { AgentClient } from '../../../client/agent-client';
import { connect } from '../../../client/connect';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import { reply } from '../../../testing/emulator/script';
import { startOwnServer } from '../../../test/support/temporal';
import { temporaryStore } from '../../../test/support/temporary-store';
import type { Bank } from './bank';
import { toolName } from './bank-tools';
import type { Reported } from './judge-call';
import type { PlannedCall } from './kill-plan';
import type { EffectsWorkerSettings } from './worker-crew';
import { effectsAgent } from './worker-crew';

/** The world of one section. */
export interface World {
  readonly bank: Bank;
  readonly client: AgentClient;
  readonly store: Store;
  /** For files that processes wait for; removed at the end. */
  readonly folder: string;
  /** Of every worker. */
  readonly settings: Omit<EffectsWorkerSettings, 'taskQueue' | 'serves'>;
  /** What Node needs to run a worker's script. */
  readonly execArgv: readonly string[];
}

/** Milliseconds until every run has ended after the last fault. */
const endTimeoutMs = 120_000;
const lookEveryMs = 50;
/** Milliseconds between two looks for what a run asks. */
const askEveryMs = 500;

/** Waits until something holds, but not forever; returns whether it does. */
export async function waitFor(holds: () => boolean, timeoutMs: number): Promise<boolean> {
  const endsAt = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() > endsAt) return false;
    await sleep(lookEveryMs);
  }
  return true;
}

/** Starts these runs; the emulated model asks for the calls that the goal names. */
export async function startRuns(
  client: AgentClient,
  runs: ReadonlyMap<string, readonly PlannedCall[]>,
): Promise<void> {
  for (const [runId, calls] of runs) {
    await client.start({ agent: effectsAgent, goal: goalOf(calls), runId });
  }
}

/** The goal that asks the emulated model to make these calls. */
export function goalOf(calls: readonly PlannedCall[]): string {
  return JSON.stringify(calls.map(({ tool, id, effectId = id }) => ({ tool, id: effectId })));
}

/** The goals in a conversation: the one that it began with, and that of a run that continues the first one. */
function goalsIn({ turns }: RecordedRequest['conversation']): readonly string[] {
  return turns.flatMap(({ role, text }) =>
    role === 'user' ? (/\[\{"tool".*\}\]/.exec(text)?.slice(0, 1) ?? []) : [],
  );
}

/** A client whose runs use another task queue. The caller closes it. */
export function clientOf({ settings }: World, taskQueue: string): Promise<AgentClient> {
  return connect({
    address: settings.temporalAddress,
    namespace: settings.namespace,
    taskQueue,
  });
}

/** What was reported of each call of a run, by tool name; why there is nothing, if the run has not ended well. */
export type RunReported = ReadonlyMap<string, Reported> | string;

/** Answers questions about the outcome of a call, as a person would who looks at the ledger of the bank. */
async function answerQuestions(
  { client, bank }: World,
  runId: string,
  { id, effectId = id }: PlannedCall,
): Promise<void> {
  for (const item of await client.run(runId).pending()) {
    if (item.type !== 'question' || !/is not known|made the same call/.test(item.question))
      continue;
    const isApplied = bank.ledger.some((entry) => entry.callId === effectId);
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
async function readReported(world: World, runId: string): Promise<RunReported> {
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

/** Waits for the end of a run, answers what it asks meanwhile, and reads what its model was told. */
export async function endOfRun(
  world: World,
  runId: string,
  calls: readonly PlannedCall[],
): Promise<RunReported> {
  const asking = calls.find(({ tool }) => tool === 'ask');
  const ended = readReported(world, runId).catch((thrown: unknown) => String(thrown));
  for (;;) {
    if (asking !== undefined) await answerQuestions(world, runId, asking).catch(() => undefined);
    const reported = await Promise.race([ended, sleep(askEveryMs, undefined)]);
    if (reported !== undefined) return reported;
  }
}

/** Runs `work` with the bank, the emulated model, Temporal and a store, all real. */
export async function inEffectsWorld<Result>(
  bank: Bank,
  {
    execArgv,
    heartbeatTimeoutMs,
  }: Pick<World, 'execArgv'> & { readonly heartbeatTimeoutMs: number },
  work: (world: World) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-effects-'));
  const emulator = await VendorEmulator.start();
  emulator.script((request) => {
    const goals = goalsIn(request.conversation);
    const planned = JSON.parse(goals.at(-1) ?? '[]') as Pick<PlannedCall, 'tool' | 'id'>[];
    if (request.toolCalls.length >= goals.length * planned.length) return reply.text('done');
    return reply.toolCalls(
      planned.map(({ tool, id }) => ({ name: toolName(tool), input: { callId: id } })),
    );
  });
  const stored = await temporaryStore();
  const server = await startOwnServer();
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const settings = {
    temporalAddress: address,
    namespace,
    store: stored.url,
    emulatorUrl: emulator.baseUrl('anthropic'),
    bankUrl: bank.url,
    heartbeatTimeoutMs,
  };
  try {
    return await work({ bank, client, store: stored.store, folder, settings, execArgv });
  } finally {
    await client.close();
    await server.close();
    await stored.dispose();
    await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
