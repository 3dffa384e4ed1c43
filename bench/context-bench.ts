/** Measures compaction: a run far longer than its window, and what a large compaction costs the workflow thread. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time';
import { z } from 'zod';
import { createActivities } from '../activities/index';
import { anthropicProvider } from '../activities/providers/anthropic/anthropic-provider';
import { openStore } from '../activities/stores/open-store';
import { defineTool } from '../activities/tools/define-tool';
import type { RecordedRequest } from '../testing/emulator/recorded-request';
import { VendorEmulator } from '../testing/emulator/emulator';
import type { ReplyStep } from '../testing/emulator/script';
import { reply } from '../testing/emulator/script';
import { connectWorker } from '../workers/worker-connection';
import { startEmbeddedServer } from '../workers/embedded-server';
import { createWorker } from '../workers/worker';
import { agentRunWorkflow, defaultTaskQueue } from '../workflows/contract';
import type { RunOutcome } from '../workflows/core/run-outcome';
import type { ChainHistory, HistoryEvent, HistoryWindows } from './history-sizes';
import { readChain, windowsOf } from './history-sizes';

const model = 'claude-sonnet-5';

/** What a benchmark of a long conversation is made of. */
interface LongConversation {
  readonly iterations: number;
  readonly windowTokens: number;
  readonly maxOutputTokens: number;
  /** Lines of each tool result. */
  readonly lines: number;
}

/** What is planted at the start, and asked for at the end. */
const planted = ['amber holds kestrel-4471', 'birch holds osprey-8830', 'cedar holds merlin-2096'];
const plantedFact = /\b(?:amber|birch|cedar) holds \w+-\d+/g;

function factsIn(text: string): readonly string[] {
  return [...new Set(text.match(plantedFact) ?? [])].sort();
}

function isSummary(request: RecordedRequest): boolean {
  return request.systemText.includes('You keep the record of an agent');
}

/** A model that knows only what it is sent: it copies facts into summaries, and answers with those that it still sees. */
function mindOf({ iterations }: LongConversation): (request: RecordedRequest) => ReplyStep {
  let call = 0;
  return (request) => {
    const sent = JSON.stringify(request.body);
    const facts = factsIn(sent);
    if (isSummary(request))
      return reply.text(
        JSON.stringify({
          progress: `Looked things up; ${sent.length} characters of record.`,
          facts: facts.map((fact) => `Vault ${fact}.`),
          decisions: [],
        }),
      );
    call += 1;
    if (call >= iterations) return reply.text(facts.join('; '));
    return reply.toolCalls([{ name: 'look', input: { n: call } }]);
  };
}

function lookTool(lines: number) {
  return defineTool({
    name: 'look',
    description: 'Looks something up.',
    input: z.object({ n: z.number() }),
    effect: 'read',
    execute: ({ n }) => {
      const fact = n <= planted.length - 1 ? [`Note: vault ${planted[n] ?? ''}.`] : [];
      const entries = Array.from(
        { length: lines },
        (_each, line) => `entry ${n}.${line} has value ${(n * 7919 + line * 104729) % 99991}`,
      );
      return [...fact, ...entries].join('\n');
    },
  });
}

/** What was seen of a long conversation. */
interface SeenConversation {
  readonly outcome: RunOutcome;
  readonly emulator: VendorEmulator;
  readonly chain: ChainHistory;
  readonly seconds: number;
}

async function outcomeOf(result: Promise<unknown>): Promise<RunOutcome> {
  try {
    return (await result) as RunOutcome;
  } catch (thrown) {
    if (!(thrown instanceof WorkflowFailedError)) throw thrown;
    const details = (thrown.cause as { details?: readonly unknown[] } | undefined)?.details ?? [];
    if (details[0] === undefined) throw thrown;
    return details[0] as RunOutcome;
  }
}

async function converse(size: LongConversation, directory: string): Promise<SeenConversation> {
  const startedAt = Date.now();
  const server = await startEmbeddedServer({
    stateFile: path.join(directory, 'temporal.db'),
    untilExitOf: process.pid,
  });
  const store = await openStore(`sqlite:${path.join(directory, 'store.db')}`);
  const emulator = await VendorEmulator.start({
    windows: { [model]: size.windowTokens },
    recordedBodies: 2,
  });
  emulator.script(mindOf(size));
  const connection = await connectWorker({ address: server.address });
  const { iterations, windowTokens, maxOutputTokens } = size;
  const worker = await createWorker({
    connection,
    activities: createActivities({
      store,
      providers: [anthropicProvider({ apiKey: 'bench', baseUrl: emulator.baseUrl('anthropic') })],
      agents: [
        {
          name: 'looker',
          instructions: 'You look things up, and say in the end which vault holds what.',
          chain: [{ provider: 'anthropic', model, windowTokens, maxOutputTokens }],
          tools: [lookTool(size.lines)],
          limits: {
            maxIterations: iterations + 1,
            maxEvents: iterations * 10,
            maxToolCalls: iterations,
            maxActiveMs: 86_400_000,
          },
        },
      ],
    }),
  });
  const client = new Client({ connection: await Connection.connect({ address: server.address }) });
  const handle = await client.workflow.start(agentRunWorkflow, {
    taskQueue: defaultTaskQueue,
    workflowId: `context-${startedAt}`,
    args: [{ request: { agent: 'looker', goal: `Look things up. Vault ${planted[0] ?? ''}.` } }],
  });
  const outcome = await worker.runUntil(outcomeOf(handle.result()));
  const chain = await readChain(client, handle.workflowId, handle.firstExecutionRunId);
  await connection.close();
  await store.close();
  await client.connection.close();
  await server.stop();
  await emulator.stop();
  return { outcome, emulator, chain, seconds: Math.round((Date.now() - startedAt) / 100) / 10 };
}

async function inDirectory<Result>(work: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-bench-'));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function inputTokensOf({ progress }: RecordedRequest): number {
  const { usage } = progress;
  return usage === undefined
    ? 0
    : usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}

/** Completed compactions of a chain. */
function compactionsOf(events: readonly HistoryEvent[]): number {
  return events.filter(isCompaction).length;
}

/** Share of the input that the vendor's prompt cache served. */
function cachedShare({ bill }: VendorEmulator): number {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = bill.total;
  const all = inputTokens + cacheReadTokens + cacheWriteTokens;
  return all === 0 ? 0 : Math.round((cacheReadTokens / all) * 1_000) / 1_000;
}

/** What the long run came to. */
export interface LongRunResult extends HistoryWindows {
  readonly windowTokens: number;
  readonly status: string;
  readonly iterations: number;
  readonly requests: number;
  /** Requests that the vendor refused, in its words. */
  readonly refusals: readonly string[];
  /** Input tokens of the largest request, as the vendor counted. */
  readonly largestRequestTokens: number;
  readonly compactions: number;
  readonly factsPlanted: number;
  readonly factsAnswered: number;
  /** Highest window of history over lowest, the first one not counted. */
  readonly spread: number;
  readonly continuedAsNew: number;
  readonly cachedShare: number;
  readonly seconds: number;
  readonly isRight: boolean;
}

/** Window of the long run, in tokens (issue CONTEXT). */
const longRunWindow = 65_536;

/** Runs so many iterations on a window of 64K, with facts planted at the start and asked for at the end. */
export async function longRunBench(iterations: number): Promise<LongRunResult> {
  const size = { iterations, windowTokens: longRunWindow, maxOutputTokens: 4_096, lines: 60 };
  const { outcome, emulator, chain, seconds } = await inDirectory((directory) =>
    converse(size, directory),
  );
  const windows = windowsOf(chain.sizes, iterations);
  const flat = windows.bytesPerIteration.slice(1);
  const spread =
    flat.length === 0 ? 1 : Math.round((Math.max(...flat) / Math.min(...flat)) * 1_000) / 1_000;
  const answered = outcome.status === 'completed' ? factsIn(outcome.answer) : [];
  const largestRequestTokens = Math.max(...emulator.requests.map(inputTokensOf));
  const refusals = emulator.refusals.map(({ error }) => error.message ?? `${error.status}`);
  const compactions = compactionsOf(chain.events);
  const isRight =
    outcome.status === 'completed' &&
    refusals.length === 0 &&
    largestRequestTokens <= longRunWindow &&
    answered.length === planted.length &&
    compactions <= iterations / 10 &&
    spread <= 1.5;
  return {
    windowTokens: longRunWindow,
    status: outcome.status === 'failed' ? `failed: ${outcome.message}` : outcome.status,
    iterations: outcome.report.iterations,
    requests: emulator.requests.length,
    refusals: refusals.slice(0, 5),
    largestRequestTokens,
    compactions,
    factsPlanted: planted.length,
    factsAnswered: answered.length,
    ...windows,
    spread,
    continuedAsNew: chain.runs - 1,
    cachedShare: cachedShare(emulator),
    seconds,
    isRight,
  };
}

/** What compactions of a large conversation came to. */
export interface CompactionBenchResult {
  readonly windowTokens: number;
  readonly status: string;
  readonly largestRequestTokens: number;
  readonly compactions: number;
  readonly workflowTasks: number;
  /** Milliseconds from the start of a workflow task to its completion, by the server's clock. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
  /** Middle of the workflow tasks that ask for a compaction or take its result, and of all others. */
  readonly compactionTaskMs: number;
  readonly otherTaskMs: number;
  readonly seconds: number;
  readonly isRight: boolean;
}

interface WorkflowTask {
  readonly millis: number;
  compacts: boolean;
}

function isCompaction(event: HistoryEvent): boolean {
  return /^c\d+/.test(event.activityTaskScheduledEventAttributes?.activityId ?? '');
}

/** Each workflow task that completed, in order, and whether it asked for a compaction or took its result. */
function workflowTasks(events: readonly HistoryEvent[]): readonly WorkflowTask[] {
  const tasks: WorkflowTask[] = [];
  let startedAtMs: number | undefined;
  let takesResult = false;
  for (const event of events) {
    if (event.workflowTaskStartedEventAttributes != null) startedAtMs = tsToMs(event.eventTime);
    const last = tasks.at(-1);
    if (isCompaction(event) && last !== undefined) {
      last.compacts = true;
      takesResult = true;
    }
    if (event.workflowTaskCompletedEventAttributes == null || startedAtMs === undefined) continue;
    const millis = tsToMs(event.eventTime) - startedAtMs;
    tasks.push({ millis, compacts: takesResult });
    takesResult = false;
  }
  return tasks;
}

function inOrder(tasks: readonly WorkflowTask[]): readonly number[] {
  return tasks.map(({ millis }) => millis).sort((left, right) => left - right);
}

function quantile(sorted: readonly number[], share: number): number {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return Math.round(value * 10) / 10;
}

/** Window in which a conversation grows to 200,000 tokens before it is compacted. */
const largeWindow = 225_000;

/** Milliseconds under which 99 of 100 workflow tasks must stay (issue CONTEXT). */
const taskBarMs = 50;

/** Lets a conversation of 200,000 tokens be compacted, several times, and times every workflow task of the run. */
export async function compactionBench(iterations: number): Promise<CompactionBenchResult> {
  const size = { iterations, windowTokens: largeWindow, maxOutputTokens: 8_192, lines: 420 };
  const { outcome, emulator, chain, seconds } = await inDirectory((directory) =>
    converse(size, directory),
  );
  const tasks = workflowTasks(chain.events);
  const sorted = inOrder(tasks);
  const p99Ms = quantile(sorted, 0.99);
  const compactions = compactionsOf(chain.events);
  const largestRequestTokens = Math.max(...emulator.requests.map(inputTokensOf));
  return {
    windowTokens: largeWindow,
    status: outcome.status === 'failed' ? `failed: ${outcome.message}` : outcome.status,
    largestRequestTokens,
    compactions,
    workflowTasks: sorted.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms,
    slowestMs: quantile(sorted, 1),
    compactionTaskMs: quantile(inOrder(tasks.filter(({ compacts }) => compacts)), 0.5),
    otherTaskMs: quantile(inOrder(tasks.filter(({ compacts }) => !compacts)), 0.5),
    seconds,
    isRight:
      outcome.status === 'completed' &&
      compactions > 0 &&
      largestRequestTokens > 190_000 &&
      p99Ms < taskBarMs,
  };
}
