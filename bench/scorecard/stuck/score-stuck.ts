/** Plays ruts as real runs, and counts who got out of them, how, and what it cost. */
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import type { VendorEmulator } from '../../../testing/emulator/emulator';
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import type { ProviderWorld } from '../provider/provider-world';
import { inProviderWorld } from '../provider/provider-world';
import type { JudgedRow, SectionScore } from '../section';
import { parameterRuts } from './parameter-ruts';
import { peopleRuts } from './people-ruts';
import type { Rut } from './rut';
import { viewOf } from './rut';
import { toolRuts } from './tool-ruts';

/** All ruts of the bar. */
export const ruts: readonly Rut[] = [...parameterRuts, ...toolRuts, ...peopleRuts];

/** Runs at the same time. */
const atOnce = 6;

/** Milliseconds that one run may take, its backoff included. */
const deadlineMs = 60_000;

/** What came of one rut. */
interface Played {
  readonly rut: Rut;
  readonly outcome: RunOutcome | undefined;
  readonly entries: readonly TimelineEntry[];
  readonly wasAsked: boolean;
}

const mountOf = (index: number): string => `rut-${index}`;
const agentOf = (index: number): string => `rut-${index}`;

/** The planner's requests are told by its instructions. */
function scriptRut(emulator: VendorEmulator, rut: Rut, index: number): void {
  emulator.script(
    (request) =>
      request.systemText.includes('plan the recovery')
        ? rut.planner(viewOf(request).text)
        : rut.model(viewOf(request)),
    { mount: mountOf(index) },
  );
}

function definitionOf(rut: Rut, index: number): AgentDefinition {
  return {
    name: agentOf(index),
    instructions: 'Do what is asked.',
    chain: [{ provider: mountOf(index), model: 'claude-sonnet-5' }],
    tools: rut.tools,
    limits: { maxIterations: 30 },
    recovery: { mode: 'auto' },
    patterns: 'off',
  };
}

/** Answers what is asked until the run ends. */
async function play(world: ProviderWorld, rut: Rut, index: number): Promise<Played> {
  const run = await world.client.start({ agent: agentOf(index), goal: rut.goal });
  let wasAsked = false;
  let outcome: RunOutcome | undefined;
  const ended = run.outcome().then((value) => {
    outcome = value;
  });
  const untilMs = Date.now() + deadlineMs;
  while (outcome === undefined && Date.now() < untilMs) {
    const [item] = await run.pending();
    if (item?.type === 'question' && rut.answer !== undefined) {
      wasAsked = true;
      await run.answer(item.questionId, rut.answer);
    } else if (item !== undefined) {
      wasAsked = true;
      await run.stop('nobody is there to answer');
    }
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 100))]);
  }
  if (outcome === undefined) await run.cancel();
  const entries: TimelineEntry[] = [];
  for await (const entry of run.events()) entries.push(entry);
  return { rut, outcome, entries, wasAsked };
}

async function playAll(world: ProviderWorld, chosen: readonly Rut[]): Promise<readonly Played[]> {
  const played = new Map<number, Played>();
  const rest = chosen.entries();
  const lane = async (): Promise<void> => {
    for (const [index, rut] of rest) played.set(index, await play(world, rut, index));
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

const wanted: { readonly [Right in Rut['right']]: string } = {
  recovers: 'recovered',
  escalates: 'escalated',
  'gives-up': 'gave up',
};

function judge(played: Played): JudgedRow {
  const { id, right } = played.rut;
  const [expected, got] = [wanted[right], endOf(played)];
  return { id, expected, ...(expected === got ? {} : { wrong: { id, expected, got } }) };
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

/** Share of the recoverable situations that must be recovered (docs/results.md). */
const leastRecovered = 0.9;

function barRow(recovered: number, recoverable: number, hardStopped: number): JudgedRow {
  const isMet = recovered >= recoverable * leastRecovered && hardStopped === 0;
  const expected = `at least ${leastRecovered * 100} % of the recoverable, no hard stop`;
  const got = `${recovered} of ${recoverable}, ${hardStopped} hard stops`;
  return { id: 'bar', expected, ...(isMet ? {} : { wrong: { id: 'bar', expected, got } }) };
}

/**
 * Plays ruts in a world of their own.
 *
 * Contract: `summary` has exactly the fields of docs/results.md. Some recoverable situations may fail, within the bar.
 */
export async function scoreStuck(chosen: readonly Rut[] = ruts): Promise<SectionScore> {
  const played = await inProviderWorld(
    ({ emulator }) => ({
      providers: chosen.map((_rut, index) =>
        anthropicProvider({
          name: mountOf(index),
          apiKey: 'key',
          baseUrl: emulator.baseUrl('anthropic', mountOf(index)),
        }),
      ),
      agents: chosen.map(definitionOf),
    }),
    (world) => {
      chosen.forEach((rut, index) => {
        scriptRut(world.emulator, rut, index);
      });
      return playAll(world, chosen);
    },
  );
  const ends = played.map(endOf);
  const recovered = played.filter(
    (each, index) => each.rut.right === 'recovers' && ends[index] === 'recovered',
  );
  const recoverable = chosen.filter(({ right }) => right === 'recovers').length;
  const hardStopped = ends.filter((end) => end.startsWith('hard stop')).length;
  return {
    rows: [...played.map(judge), barRow(recovered.length, recoverable, hardStopped)],
    summary: {
      ruts: chosen.length,
      recoverable,
      recovered: recovered.length,
      escalated: ends.filter((end) => end === 'escalated').length,
      gaveUp: ends.filter((end) => end === 'gave up').length,
      hardStopped,
      wasted: median(recovered.map(wastedOf)),
      firstRetryRate: firstRetryRate(recovered),
    },
  };
}
