/** Measures how a run's Temporal history grows with its iterations. */
import { z } from 'zod';
import { defineTool } from '../activities/tools/define-tool';
import { scriptedProvider } from '../testing/scripted-provider';
import { playBenchRun } from './bench-run';
import { windowsOf } from './history-sizes';

/** What the benchmark found. */
export interface HistoryBenchResult {
  /** Last iteration of each window. */
  readonly n: readonly number[];
  /** History bytes per iteration within each window, as protobuf. */
  readonly bytesPerIteration: readonly number[];
  readonly eventsPerIteration: readonly number[];
  readonly continuedAsNew: number;
  /** Largest history of one Temporal run of the chain, in bytes as the server counts them. */
  readonly largestRunBytes: number;
  /** Highest window over lowest window, from iteration 10 on. */
  readonly spread: number;
  /** What the run itself counted at its end. */
  readonly counted: { readonly iterations: number; readonly toolCallsSucceeded: number };
  readonly seconds: number;
}

/** Bytes of each tool result. */
const resultBytes = 5 * 1024;

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ n: z.number() }),
  effect: 'keyed',
  execute: ({ n }) => `${n} `.padEnd(resultBytes, `entry ${n} `),
});

/** Runs `iterations` iterations with 5 KB tool results on an embedded server, and reads the histories of the chain. */
export async function historyBench(iterations: number): Promise<HistoryBenchResult> {
  const { outcome, chain, seconds } = await playBenchRun({
    agent: {
      name: 'looker',
      instructions: 'You look things up.',
      chain: [{ provider: 'scripted', model: 'scripted', windowTokens: 10_000_000 }],
      tools: [look],
    },
    provider: scriptedProvider('scripted', (_request, index) =>
      index + 1 < iterations
        ? { toolCalls: [{ name: 'look', input: { n: index } }] }
        : { text: 'done' },
    ),
    goal: 'Look things up.',
    iterations,
  });
  if (outcome.status !== 'completed') throw new Error(`the run ended as ${outcome.status}`);
  const windows = windowsOf(chain.sizes, iterations);
  const flat = windows.bytesPerIteration.slice(1);
  return {
    ...windows,
    continuedAsNew: chain.runs - 1,
    largestRunBytes: chain.largestRunBytes,
    spread: Math.round((Math.max(...flat) / Math.min(...flat)) * 1000) / 1000,
    counted: {
      iterations: outcome.report.iterations,
      toolCallsSucceeded: outcome.report.toolCallsSucceeded,
    },
    seconds,
  };
}
