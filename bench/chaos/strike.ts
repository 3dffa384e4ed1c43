/** Lets each planned fault happen, and notes when it did. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChaosRecord, PlayedFault } from './check';
import { control } from './cluster';
import type { FaultKind, PlannedFault } from './schedule';
import { faultText, workerCount } from './schedule';
import type { LinkMode } from './tcp-proxy';
import type { World } from './world';
import { builds, openGateway } from './world';

const execute = promisify(execFile);

/** Milliseconds in which a server that was restarted takes no other fault. */
const restMs = 20_000;
/** Milliseconds between two tries to make a build current. */
const tryEveryMs = 1_000;

/** A fault's turn; resolves with whether it happened when it is over. */
type Strike = (world: World, fault: PlannedFault) => Promise<boolean>;

const slotOf = ({ target }: PlannedFault): number => Number(/\d+/.exec(target)?.[0] ?? 0);

/** A strike at a worker that serves. */
function atWorker(
  strike: (world: World, fault: PlannedFault, slot: number, pid: number) => Promise<void>,
): Strike {
  return async (world, fault) => {
    const slot = slotOf(fault);
    const pid = world.workers.serving(slot)?.pid;
    if (pid === undefined) return false;
    await strike(world, fault, slot, pid);
    return true;
  };
}

/** Limits the size of the files that a process may write: every write beyond fails, as on a full disk. */
async function limitFiles(pid: number, bytes: string): Promise<void> {
  await execute('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]).catch(
    () => undefined,
  );
}

const stall = atWorker(({ workers }, { forMs }, slot, pid) =>
  workers.hold(
    slot,
    forMs,
    () => process.kill(pid, 'SIGSTOP'),
    () => process.kill(pid, 'SIGCONT'),
  ),
);

const strikeNet: Strike = async ({ links }, { target, how, forMs }) => {
  const link = links.get(target);
  if (link === undefined) return false;
  if (how === 'cut') {
    link.cut();
    return true;
  }
  const mode: LinkMode = how === 'hold then cut' ? 'hold' : (how as LinkMode);
  link.set(mode);
  await delay(forMs);
  if (how === 'hold then cut') link.cut();
  link.set('pass');
  return true;
};

const strikeGateway: Strike = async (world, fault) => {
  const slot = world.gateways[slotOf(fault)];
  const running = slot?.process;
  if (slot === undefined || running === undefined) return false;
  delete slot.process;
  const gone = new Promise((resolve) => running.child.once('exit', resolve));
  running.child.kill(fault.how as NodeJS.Signals);
  await gone;
  await delay(fault.forMs);
  await openGateway(slot, world);
  return true;
};

/** Makes a build current, once the server knows it. */
export async function makeCurrent(
  { temporal, taskQueue: deploymentName, isOver }: World,
  buildId: string,
): Promise<void> {
  const { workflowService } = temporal.connection;
  while (!isOver()) {
    const isSet = await workflowService
      .setWorkerDeploymentCurrentVersion({ namespace: 'default', deploymentName, buildId })
      .then(
        () => true,
        () => false,
      );
    if (isSet) return;
    await delay(tryEveryMs);
  }
}

/** From the first deploy on, the last worker is of the other build; each deploy makes the other build current. */
const deploy: Strike = async (world) => {
  const { workers, versions } = world;
  const last = workerCount - 1;
  const next = versions.current === builds[0] ? builds[1] : builds[0];
  versions.current = next;
  if (workers.startOf(last).buildId !== builds[1])
    await workers.roll(last, { ...workers.startOf(last), buildId: builds[1] });
  await makeCurrent(world, next);
  return true;
};

const strikes: Readonly<Record<FaultKind, Strike>> = {
  kill: atWorker(({ workers }, { forMs }, slot) => workers.kill(slot, forMs)),
  stop: stall,
  block: atWorker(({ workers }, { forMs }, slot, pid) =>
    workers.hold(
      slot,
      forMs,
      () => process.kill(pid, 'SIGWINCH'),
      () => undefined,
    ),
  ),
  roll: atWorker(({ workers }, _fault, slot) => workers.roll(slot)),
  clock: atWorker(({ workers }, { how }, slot) =>
    workers.roll(slot, { ...workers.startOf(slot), clock: how }),
  ),
  disk: atWorker(async ({ workers }, { forMs }, slot, pid) => {
    await limitFiles(pid, '0');
    await workers.hold(
      slot,
      forMs,
      () => undefined,
      () => undefined,
    );
    await limitFiles(pid, 'unlimited');
  }),
  gateway: strikeGateway,
  net: strikeNet,
  store: async ({ store }, { how, forMs }) => {
    if (how === 'SIGKILL') await store.kill();
    await delay(forMs);
    await store.restart();
    await delay(restMs);
    return true;
  },
  temporal: async ({ cluster }, { how, forMs }) => {
    await control(cluster.stopTemporal, { SIGNAL: how.replace('SIG', '') });
    await delay(forMs);
    await control(cluster.startTemporal);
    await delay(restMs);
    return true;
  },
  postgres: async ({ cluster }, { how }) => {
    await control(cluster.restartPostgres, { MODE: how });
    await delay(restMs);
    return true;
  },
  deploy,
};

/** Faults after which a request or a call may arrive late. */
function delaysCalls({ kind, how }: PlannedFault): boolean {
  return kind === 'stop' || kind === 'block' || (kind === 'net' && /hold|delay/.test(how));
}

/** Lets the faults happen, and returns those that did; one whose target another one holds is left out. */
export async function strikeAll(
  world: World,
  faults: readonly PlannedFault[],
  say: (line: string) => void,
): Promise<Pick<ChaosRecord, 'notMade'> & { readonly played: readonly PlayedFault[] }> {
  const beganMs = Date.now();
  const busy = new Set<string>();
  const played: PlayedFault[] = [];
  const notMade: string[] = [];
  await Promise.all(
    faults.map(async (fault) => {
      await delay(Math.max(0, beganMs + fault.atMs - Date.now()));
      const held = fault.kind === 'postgres' ? 'temporal' : fault.target;
      if (busy.has(held)) return;
      busy.add(held);
      const fromMs = Date.now();
      say(`${new Date(fromMs).toISOString()} ${faultText(fault)}`);
      try {
        if (await strikes[fault.kind](world, fault))
          played.push({
            ...{ text: faultText(fault), fromMs, untilMs: Date.now() },
            delays: delaysCalls(fault),
          });
      } catch (thrown) {
        notMade.push(`${faultText(fault)}: ${String(thrown)}`);
      }
      busy.delete(held);
    }),
  );
  return { played: played.toSorted((left, right) => left.fromMs - right.fromMs), notMade };
}
