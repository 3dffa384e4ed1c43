/** Calls that break in the middle: is each one that was billed charged, near its cost, and within its bounds? */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AgentClient } from '../../../client/agent-client';
import { connect } from '../../../client/connect';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { billedPicoUsd } from '../../../testing/emulator/price-list';
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import type { Step } from '../../../testing/emulator/script';
import { fault, reply } from '../../../testing/emulator/script';
import { startEmbeddedServer } from '../../../workers/temporal-server/embedded-server';
import type { RunCost } from '../../../workflows/core/budget/spend';
import type { WorkerCrew } from '../effects/worker-crew';
import { startCrew } from '../effects/worker-crew';
import type { JudgedRow, SectionScore } from '../section';
import { randomOf } from '../../random';
import type { KillRound } from './kill-rounds';
import { agentOf, killRounds, killTaskQueue } from './kill-rounds';

/** How the trials are played. */
export interface KillOptions {
  readonly rounds?: readonly KillRound[];
  /** What Node needs to run the worker's script, where it is not compiled. */
  readonly execArgv?: readonly string[];
}

type Billing = 'sent' | 'whole';

interface World {
  readonly emulator: VendorEmulator;
  readonly client: AgentClient;
  readonly crew: WorkerCrew;
  /** The request of each run that is broken. */
  readonly broken: Map<string, RecordedRequest>;
}

/** One broken call: what the vendor billed, and what its run's report says about it, in US dollars. */
interface BrokenCall {
  readonly id: string;
  readonly billUsd: number;
  readonly knownUsd: number;
  readonly expectedUsd: number;
  readonly boundUsd: number;
}

/** The first message of each request names its run. */
function runOf(request: RecordedRequest): string {
  return /RUN (\S+)/.exec(request.conversation.turns[0]?.text ?? '')?.[1] ?? '';
}

/** Twelve characters at a time, so that a reply takes seconds. */
const delivery = { charactersPerDelta: 12, delivery: { writeEveryMs: 60 } };

/** A connection that breaks: within the reply, at its end, after the response's head, or before it. */
function cut(words: string, luck: number, during: Step & { type: 'reply' }): Step {
  if (luck < 0.4)
    return fault.cutStream({ during, afterCharacters: Math.ceil(words.length * luck * 2) });
  if (luck < 0.6) return fault.missingEnd(during);
  return fault.connection('reset', luck < 0.8 ? 'after-headers' : 'before-headers', during);
}

function script({ emulator, broken }: World, rounds: readonly KillRound[], seed: number): void {
  const random = randomOf(seed);
  emulator.clearScripts();
  emulator.script((request) => {
    const run = runOf(request);
    const round = rounds.find(({ index }) => run.startsWith(`r${index}-`));
    if (run.includes('neighbor'))
      return request.wire === round?.wire ? fault.http(529) : reply.text('done');
    // Every second run has a conversation that the vendor has counted and cached.
    if (run.endsWith('odd') && request.toolResults.length === 0)
      return reply.toolCalls([{ name: 'look', input: { page: Math.floor(random() * 1e6) } }]);
    if (broken.has(run)) return reply.text('done');
    broken.set(run, request);
    const words = `${run} `.concat('word or two '.repeat(20 + Math.floor(random() * 250)));
    return round?.blow === 'cut'
      ? cut(words, random(), reply.text(words))
      : reply.text(words, delivery);
  });
}

/** Events of a reply that are sent before its worker is killed: more than the head, less than the shortest reply. */
const sentEvents = 8;

/** Makes the round's first route cool down, as another run's failures do. */
async function restRoute({ client }: World, round: KillRound, billing: Billing): Promise<void> {
  const runId = `r${round.index}-${billing}-neighbor`;
  const neighbor = await client.start({ agent: agentOf(round), goal: `RUN ${runId}`, runId });
  await neighbor.outcome();
}

async function play(world: World, round: KillRound, billing: Billing): Promise<BrokenCall[]> {
  const { emulator, client, crew, broken } = world;
  const runIds = Array.from(
    { length: round.runs },
    (_, each) => `r${round.index}-${billing}-${each}-${each % 2 === 0 ? 'even' : 'odd'}`,
  );
  const handles = await Promise.all(
    runIds.map((runId) =>
      client.start({ agent: agentOf(round), goal: `RUN ${runId}`, runId, budget: { usd: 2 } }),
    ),
  );
  if (round.blow === 'kill') {
    await crew.standsBy();
    const isUnderWay = (runId: string): boolean =>
      (broken.get(runId)?.progress.eventsSent ?? 0) >= sentEvents;
    const ended = Promise.any(handles.map((run) => run.outcome())).then(({ status }) => {
      throw new Error(`a run of round ${round.index} ended as ${status} before its kill`);
    });
    await Promise.race([emulator.waitFor(() => runIds.every(isUnderWay)), ended]);
    ended.catch(() => undefined);
    await crew.killAndReplace(
      () => undefined,
      () => undefined,
    );
  }
  if (round.sequel === 'rest') await restRoute(world, round, billing);
  if (round.sequel === 'stop') await Promise.all(handles.map((run) => run.stop('enough')));
  if (round.sequel === 'cancel') await Promise.all(handles.map((run) => run.cancel()));
  const outcomes = await Promise.all(handles.map((run) => run.outcome()));
  await emulator.waitFor(({ requests }) => requests.every(({ progress }) => progress.finished));
  return outcomes.map(({ report }, each) =>
    readCall(emulator, runIds[each] ?? '', report.cost, broken),
  );
}

function billUsd({ model, progress }: RecordedRequest): number {
  return progress.usage === undefined ? 0 : (billedPicoUsd(model, progress.usage) ?? NaN) / 1e12;
}

/** Subtracts the cost of the run's complete replies, which vendors reported, from the report: the rest is the broken call's. */
function readCall(
  { requests }: VendorEmulator,
  id: string,
  { usd = NaN, estimatedUsd = 0, mostUsd = usd }: RunCost,
  broken: ReadonlyMap<string, RecordedRequest>,
): BrokenCall {
  const ofRun = requests.filter((request) => runOf(request) === id);
  const isBroken = (request: RecordedRequest): boolean =>
    request === broken.get(id) || request.progress.abandoned;
  const sum = (some: readonly RecordedRequest[]): number =>
    some.reduce((total, request) => total + billUsd(request), 0);
  const wholeUsd = sum(ofRun.filter((request) => !isBroken(request)));
  return {
    id,
    billUsd: sum(ofRun.filter(isBroken)),
    knownUsd: usd - estimatedUsd - wholeUsd,
    expectedUsd: usd - wholeUsd,
    boundUsd: mostUsd - wholeUsd,
  };
}

async function playAll(
  billing: Billing,
  rounds: readonly KillRound[],
  execArgv: readonly string[],
): Promise<{ readonly calls: readonly BrokenCall[]; readonly processes: number }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-kills-'));
  const emulator = await VendorEmulator.start({ cutReplies: billing });
  const server = await startEmbeddedServer({
    logFile: path.join(folder, 'temporal.log'),
    untilExitOf: process.pid,
  });
  const client = await connect({ address: server.address, taskQueue: killTaskQueue });
  const settings = {
    temporalAddress: server.address,
    store: `sqlite:${path.join(folder, 'store.db')}`,
    anthropicUrl: emulator.baseUrl('anthropic'),
    openaiUrl: emulator.baseUrl('responses'),
  };
  const worker = path.join(__dirname, `kill-worker${path.extname(__filename)}`);
  const crew = await startCrew(settings, execArgv, worker);
  const world: World = { emulator, client, crew, broken: new Map() };
  script(world, rounds, billing === 'sent' ? 3 : 5);
  try {
    const calls: BrokenCall[] = [];
    for (const round of rounds) calls.push(...(await play(world, round, billing)));
    return { calls, processes: crew.kills() };
  } finally {
    await crew.dismiss();
    await client.close();
    await server.stop();
    await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A ten-thousandth of a cent: the most that adding dollars as fractions may lose. */
const epsilonUsd = 1e-6;
/** The most that all expected costs together may exceed the bill (HOLD, point 5). */
const mostRatio = 1.3;

function isLost({ billUsd: bill, expectedUsd }: BrokenCall): boolean {
  return bill > 0 && !(expectedUsd > epsilonUsd);
}

function isOutOfBounds({ billUsd: bill, knownUsd, boundUsd }: BrokenCall): boolean {
  return !(knownUsd <= bill + epsilonUsd && bill <= boundUsd + epsilonUsd);
}

function judge(call: BrokenCall): JudgedRow {
  const expected = 'charged, and known <= bill <= bound';
  const { id } = call;
  if (!isLost(call) && !isOutOfBounds(call)) return { id, expected };
  const [bill, known, likely, bound] = [
    call.billUsd,
    call.knownUsd,
    call.expectedUsd,
    call.boundUsd,
  ].map((usd) => `$${usd.toFixed(6)}`);
  const got = `bill ${bill}, known ${known}, expected ${likely}, bound ${bound}`;
  return { id, expected, wrong: { id, expected, got } };
}

/**
 * Plays each round with both ways of billing.
 *
 * Contract: `kills` counts the calls that broke in the middle; `overRatio` is the sum of their expected costs divided by the sum
 * of their bills.
 */
export async function scoreKills({
  rounds = killRounds,
  execArgv = [],
}: KillOptions = {}): Promise<SectionScore> {
  const sent = await playAll('sent', rounds, execArgv);
  const whole = await playAll('whole', rounds, execArgv);
  const calls = [...sent.calls, ...whole.calls];
  const sum = (of: (call: BrokenCall) => number): number =>
    calls.reduce((total, call) => total + of(call), 0);
  const overRatio = sum((call) => call.expectedUsd) / sum((call) => call.billUsd);
  const ratio = { id: 'expected over bill', expected: `at most ${mostRatio}` };
  const got = overRatio.toFixed(3);
  return {
    summary: {
      kills: calls.length,
      lostSpend: calls.filter(isLost).length,
      overRatio: Number(got),
      outOfBounds: calls.filter(isOutOfBounds).length,
      killedProcesses: sent.processes + whole.processes,
      expectedUsd: Number(sum((call) => call.expectedUsd).toFixed(6)),
      billedUsd: Number(sum((call) => call.billUsd).toFixed(6)),
      boundUsd: Number(sum((call) => call.boundUsd).toFixed(6)),
    },
    rows: [
      ...calls.map(judge),
      overRatio <= mostRatio ? ratio : { ...ratio, wrong: { ...ratio, got } },
    ],
  };
}
