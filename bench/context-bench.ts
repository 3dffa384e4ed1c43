/** Measures compaction: a run far longer than its window, and what a large compaction costs the workflow thread. */
import { tsToMs } from '@temporalio/common/lib/time';
import { z } from 'zod';
import { anthropicProvider } from '../activities/providers/anthropic/anthropic-provider';
import { defineTool } from '../activities/tools/define-tool';
import type { RecordedRequest } from '../testing/emulator/recorded-request';
import { VendorEmulator } from '../testing/emulator/emulator';
import type { ReplyStep } from '../testing/emulator/script';
import { reply } from '../testing/emulator/script';
import type { BenchPlace, SeenRun } from './bench-run';
import { playBenchRun } from './bench-run';
import type { HistoryEvent, HistoryWindows } from './history-sizes';
import { windowsOf } from './history-sizes';

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
  return request.systemText.includes('You summarize the record of an agent');
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
interface SeenConversation extends SeenRun {
  readonly emulator: VendorEmulator;
}

async function converse(size: LongConversation, place?: BenchPlace): Promise<SeenConversation> {
  const { iterations, windowTokens, maxOutputTokens } = size;
  const emulator = await VendorEmulator.start({
    windows: { [model]: windowTokens },
    recordedBodyBytes: 0,
  });
  emulator.script(mindOf(size));
  try {
    const seen = await playBenchRun({
      agent: {
        name: 'looker',
        instructions: 'You look things up, and say in the end which vault holds what.',
        chain: [{ provider: 'anthropic', model, windowTokens, maxOutputTokens }],
        tools: [lookTool(size.lines)],
      },
      provider: anthropicProvider({ apiKey: 'bench', baseUrl: emulator.baseUrl('anthropic') }),
      goal: `Look things up. Vault ${planted[0] ?? ''}.`,
      iterations,
      ...(place === undefined ? {} : { place }),
    });
    return { ...seen, emulator };
  } finally {
    await emulator.stop();
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

/** Window of the long run, in tokens (docs/results.md). */
const longRunWindow = 65_536;

/** Lines of each tool result of the long run, and tokens that an iteration adds with it. */
const longRunLines = 60;
const iterationTokens = 750;

/** Share of the window that a compaction must free on average. */
const leastFreedShare = 1 / 8;

/** A long run in small, for a test: another window, a server that is there. */
export interface LongRunOptions {
  readonly windowTokens?: number;
  readonly place?: BenchPlace;
}

/** Runs so many iterations on a small window (64K), with facts planted at the start and asked for at the end. */
export async function longRunBench(
  iterations: number,
  { windowTokens = longRunWindow, place }: LongRunOptions = {},
): Promise<LongRunResult> {
  const maxOutputTokens = Math.floor(windowTokens / 16);
  const size = { iterations, windowTokens, maxOutputTokens, lines: longRunLines };
  const { outcome, emulator, chain, seconds } = await converse(size, place);
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
    largestRequestTokens <= windowTokens &&
    answered.length === planted.length &&
    compactions > 0 &&
    compactions * leastFreedShare * windowTokens <= iterations * iterationTokens &&
    spread <= 1.5;
  return {
    windowTokens,
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

/** Bar for the p99 of workflow tasks, in milliseconds (docs/results.md). */
const taskBarMs = 50;

/** Lets a conversation of 200,000 tokens be compacted, several times, and times every workflow task of the run. */
export async function compactionBench(iterations: number): Promise<CompactionBenchResult> {
  const size = { iterations, windowTokens: largeWindow, maxOutputTokens: 8_192, lines: 420 };
  const { outcome, emulator, chain, seconds } = await converse(size);
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
