/** Kills and stalls workers at every point of a tool's life and counts what the world and the model know afterwards. */
import type { SectionScore } from '../section';
import type { Bank } from './bank';
import { startBank } from './bank';
import { toolName } from './bank-tools';
import type { RunReported } from './effects-world';
import { inEffectsWorld } from './effects-world';
import type { CallVerdict } from './judge-call';
import { isRecoverable, judgeCall } from './judge-call';
import type { FaultKind, PlannedCall } from './kill-plan';
import { planForks, planKills, planStalls } from './kill-plan';
import { playForks } from './play-forks';
import { playKills } from './play-kills';
import { playStalls } from './play-stalls';

/** How many faults, and how they are spread. */
export interface EffectsOptions {
  /** Calls to kill, each at a planned point. Default 500 (docs/results.md). */
  readonly kills?: number;
  /** Runs that begin under one worker; each has up to five calls in flight. Default 5. */
  readonly runsAtOnce?: number;
  /** Separate stalls of a worker, each of which meets four calls. Default 60. */
  readonly stalls?: number;
  /** Times that a store is slow for the four calls of a run. Default 10. */
  readonly slow?: number;
  /** Forks of runs that made the same calls; a worker is killed in four calls of each. Default 8. */
  readonly forks?: number;
  /** Continued runs, whose first run was ended, and its worker killed, in four calls. Default 20. */
  readonly continued?: number;
  /** Task queues in which workers are stalled at the same time. Default 8. */
  readonly lanes?: number;
  /** Default 6,000: a living worker on a busy machine must not pass for a dead one, or its calls are not where they were planned. */
  readonly heartbeatTimeoutMs?: number;
  /** What Node needs to run the worker's script, where it is not compiled. */
  readonly execArgv?: readonly string[];
}

const defaultOptions = {
  kills: 500,
  runsAtOnce: 5,
  stalls: 60,
  slow: 10,
  forks: 8,
  continued: 20,
  lanes: 8,
  heartbeatTimeoutMs: 6_000,
  execArgv: [],
} as const;

function byRun(calls: readonly PlannedCall[]): ReadonlyMap<string, readonly PlannedCall[]> {
  const runs = new Map<string, readonly PlannedCall[]>();
  for (const call of calls) runs.set(call.runId, [...(runs.get(call.runId) ?? []), call]);
  return runs;
}

function verdictOf(call: PlannedCall, ofRun: RunReported | undefined, bank: Bank): CallVerdict {
  const ofCall = typeof ofRun === 'object' ? ofRun.get(toolName(call.tool)) : undefined;
  const why = typeof ofRun === 'string' ? ofRun : 'no result';
  return judgeCall(call, ofCall ?? { type: 'nothing', why }, bank.ledger, bank.hitsOf(call.id));
}

function rowOf({ callId, wrong }: CallVerdict, call: PlannedCall): SectionScore['rows'][number] {
  const expected = call.points.join(', ');
  const got = wrong === undefined ? {} : { wrong: { id: callId, expected, got: wrong } };
  const right = isRecoverable(call) ? 'recovers' : 'stops';
  return { id: callId, expected, fault: { right }, ...got };
}

/**
 * Plays the section.
 *
 * Contract: a fault is counted for each call that the bank held at its planned point when its worker process got SIGKILL, or
 * from before its stall until after the end of its run, or while its store was slow. One SIGKILL meets some twenty calls, one
 * stall four; the table's last row says how many processes were killed and how many were stalled. A call of a fork or of a
 * continued run is judged by what happened in both runs. Another kind of fault is one more plan here, and one more entry of
 * what was reported.
 */
export async function scoreEffects(options: EffectsOptions = {}): Promise<SectionScore> {
  const { kills, runsAtOnce, stalls, slow, forks, continued, lanes, ...world } = {
    ...defaultOptions,
    ...options,
  };
  const killed = planKills(kills);
  const stalled = planStalls(stalls, slow);
  const forked = planForks(forks, continued);
  const calls = [...killed, ...[...stalled, ...forked].flatMap((planned) => planned.calls)];
  const bank = await startBank();
  bank.plan(killed);
  try {
    const { reported, processes } = await inEffectsWorld(bank, world, async (here) => {
      const ofKills = await playKills(here, byRun(killed), runsAtOnce);
      const ofStalls = await playStalls(here, stalled, lanes);
      const ofForks = await playForks(here, forked);
      return {
        processes: ofKills.processes + ofForks.processes,
        reported: new Map([...ofKills.reported, ...ofStalls, ...ofForks.reported]),
      };
    });
    const judged = calls.map(
      (call) => [call, verdictOf(call, reported.get(call.runId), bank)] as const,
    );
    const verdicts = judged.map(([, verdict]) => verdict);
    const count = (is: (verdict: CallVerdict) => boolean): number => verdicts.filter(is).length;
    const hits = (...kinds: readonly FaultKind[]): number =>
      calls
        .filter(({ fault }) => kinds.includes(fault))
        .reduce((sum, { id }) => sum + bank.hitsOf(id).length, 0);
    const separate = stalled.filter(
      ({ how, calls: met }) => how !== 'slow' && met.every(({ id }) => bank.hitsOf(id).length > 0),
    ).length;
    return {
      summary: {
        faults: hits('kill', 'stall', 'slow', 'fork', 'continue'),
        kills: hits('kill'),
        stalls: hits('stall'),
        slowStores: hits('slow'),
        forks: hits('fork'),
        continuedRuns: hits('continue'),
        separateStalls: separate,
        duplicateEffects: count(({ isDuplicate }) => isDuplicate),
        lostKeyedEffects: count(({ isLost }) => isLost),
        undecided: count(({ isUndecided }) => isUndecided),
        inNamedWindow: count(({ isInWindow }) => isInWindow),
      },
      rows: [
        ...judged.map(([call, verdict]) => rowOf(verdict, call)),
        {
          id: `${processes} worker processes killed, ${separate} stalled`,
          expected: `${hits('kill', 'stall', 'fork', 'continue')} calls at their points`,
        },
      ],
    };
  } finally {
    await bank.stop();
  }
}
