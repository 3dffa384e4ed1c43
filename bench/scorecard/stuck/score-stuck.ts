/** Plays situations in which a run is stuck as real runs, and counts which recovered, how, and at what cost. */
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import type { VendorEmulator } from '../../../testing/emulator/emulator';
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import type { ProviderWorld } from '../provider/provider-world';
import { inProviderWorld } from '../provider/provider-world';
import type { JudgedRow, SectionScore } from '../section';
import { parameterCases } from './parameter-cases';
import { peopleCases } from './people-cases';
import type { SlipCase } from './slip-cases';
import { slipCases } from './slip-cases';
import type { StuckCase } from './stuck-case';
import { viewOf } from './stuck-case';
import { toolCases } from './tool-cases';

/** All situations that are scored. */
export const stuckCases: readonly StuckCase[] = [...parameterCases, ...toolCases, ...peopleCases];

/** Runs at the same time. */
const atOnce = 6;

/** Milliseconds that one run may take, its backoff included. */
const deadlineMs = 60_000;

/** The result of one situation. */
interface Played {
  readonly stuckCase: StuckCase;
  readonly outcome: RunOutcome | undefined;
  readonly entries: readonly TimelineEntry[];
  readonly wasAsked: boolean;
}

const mountOf = (index: number): string => `case-${index}`;
const agentOf = (index: number): string => `case-${index}`;

/** The planner's requests are told by its instructions. */
function scriptCase(emulator: VendorEmulator, stuckCase: StuckCase, index: number): void {
  emulator.script(
    (request) =>
      request.systemText.includes('plan the recovery')
        ? stuckCase.planner(viewOf(request).text)
        : stuckCase.model(viewOf(request)),
    { mount: mountOf(index) },
  );
}

function definitionOf(stuckCase: StuckCase, index: number): AgentDefinition {
  return {
    name: agentOf(index),
    instructions: 'Do what is asked.',
    chain: [{ provider: mountOf(index), model: 'claude-sonnet-5' }],
    tools: stuckCase.tools,
    limits: { maxIterations: 30 },
    recovery: { mode: 'auto', escalate: 'wait' },
    patterns: 'off',
  };
}

/** Answers what is asked until the run ends. */
async function play(world: ProviderWorld, stuckCase: StuckCase, index: number): Promise<Played> {
  const run = await world.client.start({ agent: agentOf(index), goal: stuckCase.goal });
  let wasAsked = false;
  let outcome: RunOutcome | undefined;
  const ended = run.outcome().then((value) => {
    outcome = value;
  });
  const untilMs = Date.now() + deadlineMs;
  while (outcome === undefined && Date.now() < untilMs) {
    const [item] = await run.pending();
    if (item?.type === 'question' && stuckCase.answer !== undefined) {
      wasAsked = true;
      await run.answer(item.questionId, stuckCase.answer);
    } else if (item !== undefined) {
      wasAsked = true;
      await run.stop('nobody is there to answer');
    }
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 100))]);
  }
  if (outcome === undefined) await run.cancel();
  const entries: TimelineEntry[] = [];
  for await (const entry of run.events()) entries.push(entry);
  return { stuckCase, outcome, entries, wasAsked };
}

async function playAll(
  world: ProviderWorld,
  chosen: readonly StuckCase[],
): Promise<readonly Played[]> {
  const played = new Map<number, Played>();
  const rest = chosen.entries();
  const lane = async (): Promise<void> => {
    for (const [index, stuckCase] of rest) played.set(index, await play(world, stuckCase, index));
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return chosen.flatMap((_rut, index) => played.get(index) ?? []);
}

function endOf({ outcome, wasAsked }: Played): string {
  if (outcome === undefined) return 'did not end in time';
  if (outcome.status === 'completed') return wasAsked ? 'escalated' : 'recovered';
  if (outcome.status !== 'failed') return outcome.status;
  return outcome.reason === 'gave_up' ? 'gave up' : `hard stop: ${outcome.reason}`;
}

const wanted: { readonly [Right in StuckCase['right']]: string } = {
  recovers: 'recovered',
  escalates: 'escalated',
  'gives-up': 'gave up',
};

function judge(played: Played): JudgedRow {
  const { id, right } = played.stuckCase;
  const [expected, got] = [wanted[right], endOf(played)];
  return {
    id,
    expected,
    fault: { right: right === 'recovers' ? right : 'stops' },
    ...(expected === got ? {} : { wrong: { id, expected, got } }),
  };
}

/** Iterations from the first sign of being stuck to the end; 0 where a hint helped before. */
function wastedOf({ entries }: Played): number {
  const stuck = entries.find(({ type }) => type === 'StuckEvent');
  return stuck === undefined ? 0 : (entries.at(-1)?.iteration ?? 0) - stuck.iteration;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Share of the stuck runs that got on after the first thing that recovery did. */
function firstRetryRate(recovered: readonly Played[]): number {
  const outcomes = recovered.flatMap(({ entries }) => {
    const first = entries.find((entry) => entry.type === 'RecoveryOutcomeEvent');
    return first === undefined ? [] : [first];
  });
  if (outcomes.length === 0) return 0;
  const healed = outcomes.filter(({ healed: helped }) => helped).length;
  return Math.round((healed / outcomes.length) * 1_000) / 1_000;
}

/** Share of the errors that the model could correct which were over at its first retry, without help. */
function selfCorrectionRate(played: readonly Played[]): number {
  const all = played.flatMap(({ outcome }) => outcome?.report.corrections ?? []);
  const sum = (field: 'troubles' | 'atFirstRetry'): number =>
    all.reduce((total, each) => total + each[field], 0);
  return Math.round((1_000 * sum('atFirstRetry')) / Math.max(sum('troubles'), 1)) / 1_000;
}

/** Share of the recoverable situations that must be recovered (docs/results.md). */
const leastRecovered = 0.9;

function barRow(recovered: number, recoverable: number, hardStopped: number): JudgedRow {
  const isMet = recovered >= recoverable * leastRecovered && hardStopped === 0;
  const expected = `at least ${leastRecovered * 100} % of the recoverable, no hard stop`;
  const got = `${recovered} of ${recoverable}, ${hardStopped} hard stops`;
  return { id: 'bar', expected, ...(isMet ? {} : { wrong: { id: 'bar', expected, got } }) };
}

/** Compares the share of slips that were corrected at the first retry with the share that should be. */
function slipRow(slips: readonly SlipCase[], rate: number): JudgedRow {
  const share = slips.filter(({ atFirstRetry }) => atFirstRetry).length / Math.max(slips.length, 1);
  const [expected, got] = [String(Math.round(share * 1_000) / 1_000), String(rate)];
  return {
    id: 'slips',
    expected,
    ...(expected === got ? {} : { wrong: { id: 'slips', expected, got } }),
  };
}

/**
 * Plays situations, and slips that need no recovery, in a separate environment.
 *
 * Contract: `summary` has exactly the fields of docs/results.md. Some recoverable situations may fail, within the bar.
 */
export async function scoreStuck(
  chosen: readonly StuckCase[] = stuckCases,
  slips: readonly SlipCase[] = slipCases,
): Promise<SectionScore> {
  const all = [...chosen, ...slips];
  const playedAll = await inProviderWorld(
    ({ emulator }) => ({
      providers: all.map((_rut, index) =>
        anthropicProvider({
          name: mountOf(index),
          apiKey: 'key',
          baseUrl: emulator.baseUrl('anthropic', mountOf(index)),
        }),
      ),
      agents: all.map(definitionOf),
    }),
    (world) => {
      all.forEach((stuckCase, index) => {
        scriptCase(world.emulator, stuckCase, index);
      });
      return playAll(world, all);
    },
  );
  const played = playedAll.slice(0, chosen.length);
  const rate = selfCorrectionRate(playedAll.slice(chosen.length));
  const ends = played.map(endOf);
  const recovered = played.filter(
    (each, index) => each.stuckCase.right === 'recovers' && ends[index] === 'recovered',
  );
  const recoverable = chosen.filter(({ right }) => right === 'recovers').length;
  const hardStopped = ends.filter((end) => end.startsWith('hard stop')).length;
  return {
    rows: [
      ...playedAll.map(judge),
      barRow(recovered.length, recoverable, hardStopped),
      slipRow(slips, rate),
    ],
    summary: {
      situations: chosen.length,
      recoverable,
      recovered: recovered.length,
      escalated: ends.filter((end) => end === 'escalated').length,
      gaveUp: ends.filter((end) => end === 'gave up').length,
      hardStopped,
      wasted: median(recovered.map(wastedOf)),
      firstRetryRate: firstRetryRate(recovered),
      selfCorrectionRate: rate,
    },
  };
}
