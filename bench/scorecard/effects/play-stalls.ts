/** Stalls workers one after the other while the calls of a run stand at a planned point, and wakes them when the run has ended. */
import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunReported, World } from './effects-world';
import { clientOf, endOfRun, startRuns, waitFor } from './effects-world';
import type { PlannedStall } from './kill-plan';
import type { EffectsWorkerOrder, EffectsWorkerSettings, StandingBy } from './worker-crew';
import { kill, messageFrom, serveWith, standBy } from './worker-crew';

/** Milliseconds until the calls of a run are held. */
const holdTimeoutMs = 60_000;
/** A slow store answers after so many heartbeat timeouts. */
const slowTimeouts = 1.5;

function order(child: ChildProcess, message: EffectsWorkerOrder): void {
  child.send(message);
}

/** Stalls a process; returns what wakes it. */
async function stall(
  child: ChildProcess,
  how: 'stop' | 'block',
  file: string,
): Promise<() => Promise<void>> {
  if (how === 'stop') {
    child.kill('SIGSTOP');
    return () => {
      child.kill('SIGCONT');
      return Promise.resolve();
    };
  }
  const blocked = messageFrom(child, 'blocked');
  order(child, { type: 'block', file });
  await blocked;
  return () => writeFile(file, '');
}

/** A task queue with one worker for workflow tasks, and one at a time for activities, which is stalled and then replaced. */
class StallLane {
  private serving: ChildProcess | undefined;
  private next: StandingBy;
  /** Stalled, to be ended with the others. */
  private stalled: ChildProcess | undefined;

  constructor(
    private readonly world: World,
    private readonly settings: EffectsWorkerSettings,
  ) {
    this.next = standBy(world.execArgv);
  }

  async replace(): Promise<void> {
    this.serving = await serveWith(this.next, this.settings);
    this.next = standBy(this.world.execArgv);
  }

  async play(planned: PlannedStall): Promise<RunReported> {
    const { world } = this;
    const { runId, how, calls } = planned;
    const ids = calls.map(({ id }) => id);
    world.bank.plan(calls);
    await startRuns(world.client, new Map([[runId, calls]]));
    const isHeld = (): boolean => {
      const held = world.bank.held().filter(({ callId }) => ids.includes(callId));
      return held.length === ids.length;
    };
    await waitFor(isHeld, holdTimeoutMs);
    if (how === 'slow') {
      await sleep(slowTimeouts * this.settings.heartbeatTimeoutMs);
      world.bank.release(ids);
      return endOfRun(world, runId, calls);
    }
    const victim = this.serving;
    if (victim === undefined) throw new Error('no worker serves');
    await this.next.loaded;
    this.stalled = victim;
    const wake = await stall(victim, how, path.join(world.folder, `${runId}.wake`));
    await this.replace();
    const reported = await endOfRun(world, runId, calls);
    // First, so that the process wakes up to an answer and goes on from the very point.
    world.bank.release(ids);
    await wake();
    const drained = messageFrom(victim, 'drained');
    order(victim, { type: 'drain' });
    await drained;
    await kill(victim);
    return reported;
  }

  async dismiss(): Promise<void> {
    const children = [this.serving, this.stalled, this.next.child];
    await Promise.all(children.filter((child) => child !== undefined).map(kill));
  }
}

/** Plays the planned stalls in so many lanes; returns what the runs reported. */
export async function playStalls(
  world: World,
  stalls: readonly PlannedStall[],
  lanes: number,
): Promise<ReadonlyMap<string, RunReported>> {
  const left = [...stalls];
  const reported = new Map<string, RunReported>();
  const playLane = async (lane: number): Promise<void> => {
    const taskQueue = `effects-stalls-${lane}`;
    const settings = { ...world.settings, taskQueue };
    const client = await clientOf(world, taskQueue);
    const workflows = await serveWith(standBy(world.execArgv), {
      ...settings,
      serves: 'workflows',
    });
    const stallLane = new StallLane({ ...world, client }, { ...settings, serves: 'activities' });
    try {
      await stallLane.replace();
      for (let planned = left.shift(); planned !== undefined; planned = left.shift())
        reported.set(planned.runId, await stallLane.play(planned));
    } finally {
      await stallLane.dismiss();
      await kill(workflows);
      await client.close();
    }
  };
  await Promise.all(
    Array.from({ length: Math.min(lanes, stalls.length) }, (_, lane) => playLane(lane)),
  );
  return reported;
}
