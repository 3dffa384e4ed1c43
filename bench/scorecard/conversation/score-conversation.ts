/** Plays drawn faults as real runs, several at once, and counts what came of them. */
import type { ProviderWorld } from '../provider/provider-world';
import { inProviderWorld } from '../provider/provider-world';
import { forEachOf } from '../provider/score-provider-faults';
import type { SectionScore } from '../section';
import { drawFaults } from './draw-faults';
import type { DrawnFault } from './drawn-fault';
import type { SeenDrawn } from './judge-drawn';
import { judgeDrawn } from './judge-drawn';
import type { StagedDrawn } from './stage-drawn';
import { emulatorWindows, stageDrawn } from './stage-drawn';

/** Faults of a run of the section, and the seed that draws them if none is given. */
export const usualFaults = 480;
const usualSeed = 19;

/** Most of a run's time is waiting for retries. */
const runsAtOnce = 16;

/** Far above the slowest run, on a machine that is busy with others. */
const runDeadlineMs = 480_000;

type Played = Omit<SeenDrawn, 'requests'>;

function requestsOf({ emulator }: ProviderWorld, { mounts }: StagedDrawn) {
  return emulator.requests.filter(({ mount }) => mounts.includes(mount));
}

async function play(world: ProviderWorld, staged: StagedDrawn): Promise<Played> {
  for (const mount of staged.mounts) world.emulator.script(staged.model, { mount });
  const run = await world.client.start({ agent: staged.agent.name, goal: staged.fault.id });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, runDeadlineMs, undefined);
  });
  const outcome = await Promise.race([run.outcome(), late]);
  clearTimeout(timer);
  if (outcome === undefined)
    await world.temporal.workflow
      .getHandle(run.runId)
      .terminate('the scorecard waited long enough');
  return { outcome, callsAtEnd: requestsOf(world, staged).length };
}

/** Plays the faults in a world of their own. Contract: what was seen is read when nothing runs any more. */
export async function playDrawn(
  faults: readonly DrawnFault[],
): Promise<readonly (readonly [StagedDrawn, SeenDrawn])[]> {
  const staged: StagedDrawn[] = [];
  return inProviderWorld(
    (vendors) => {
      staged.push(...faults.map((each, index) => stageDrawn(each, index, vendors)));
      return {
        agents: staged.map(({ agent }) => agent),
        providers: staged.flatMap(({ providers }) => providers),
      };
    },
    async (world) => {
      const played = await forEachOf(
        staged,
        runsAtOnce,
        async (each) => [each, await play(world, each)] as const,
      );
      return played.map(([each, ended]) => [each, { ...ended, requests: requestsOf(world, each) }]);
    },
    undefined,
    { windows: emulatorWindows },
  );
}

/** Draws so many faults by the seed and plays them. */
export async function scoreConversation(
  count = usualFaults,
  seed = usualSeed,
): Promise<SectionScore> {
  const rows = (await playDrawn(drawFaults(count, seed))).map((played) => judgeDrawn(...played));
  const right = (type: 'recovers' | 'stops'): number =>
    rows.filter(({ fault, wrong }) => fault?.right === type && wrong === undefined).length;
  return {
    rows,
    summary: {
      seed,
      faults: rows.length,
      recovered: right('recovers'),
      stoppedReadably: right('stops'),
      wrong: rows.flatMap(({ wrong }) => (wrong === undefined ? [] : [{ ...wrong }])),
    },
  };
}
