/** Plays one row: scripts its vendors, runs its agent to the end, and gathers what was seen. */
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import type { StagedFault } from './fault-stage';
import type { SeenFault } from './judge-fault';
import type { NeededCalls } from './provider-fault';
import type { ProviderWorld } from './provider-world';

/** A row that was played; what it cost in all is known when the section has ended. */
export interface PlayedFault {
  /** Absent: it did not end in time. */
  readonly outcome?: RunOutcome;
  readonly callsAtEnd: NeededCalls;
  /** Tries of the model call that no emulator could count. */
  readonly uncounted: number;
}

/** Far above the slowest row (three deadlines of 1.5 s each), on a machine that is busy with others. */
const runDeadlineMs = 60_000;

const firstCallId = 'm1';

type Requests = readonly RecordedRequest[];

function requestsTo(requests: Requests, mount: string): Requests {
  return requests.filter((request) => request.mount === mount);
}

function callsOf(requests: Requests, { mounts }: StagedFault): NeededCalls {
  return {
    faulty: requestsTo(requests, mounts.faulty).length,
    second: requestsTo(requests, mounts.second).length,
  };
}

/** Attempts of the first model call, as Temporal's history counts them. */
async function attemptsOf(world: ProviderWorld, runId: string): Promise<number> {
  const { events } = await world.temporal.workflow.getHandle(runId).fetchHistory();
  const scheduled = events?.find(
    (event) => event.activityTaskScheduledEventAttributes?.activityId === firstCallId,
  );
  const started = events?.find(
    ({ activityTaskStartedEventAttributes: attributes }) =>
      attributes?.scheduledEventId?.toString() === scheduled?.eventId?.toString(),
  );
  return started?.activityTaskStartedEventAttributes?.attempt ?? 0;
}

async function outcomeInTime(
  outcome: Promise<RunOutcome>,
  end: () => Promise<unknown>,
): Promise<RunOutcome | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, runDeadlineMs, undefined);
  });
  const first = await Promise.race([outcome, late]);
  clearTimeout(timer);
  if (first !== undefined) return first;
  await end();
  await outcome;
  return undefined;
}

/** Plays a row. Contract: rejects only where the scorecard's own world fails. */
export async function playFault(world: ProviderWorld, staged: StagedFault): Promise<PlayedFault> {
  const { fault, mounts, agent } = staged;
  const { before, faults, after, second } = fault;
  if (fault.address === 'emulator')
    world.emulator.script([...before, ...faults, ...after], { mount: mounts.faulty });
  if (second !== undefined) world.emulator.script(second, { mount: mounts.second });
  const run = await world.client.start({ agent: agent.name, goal: fault.id });
  const outcome = await outcomeInTime(run.outcome(), () =>
    world.temporal.workflow.getHandle(run.runId).terminate('the scorecard waited long enough'),
  );
  return {
    ...(outcome === undefined ? {} : { outcome }),
    callsAtEnd: callsOf(world.emulator.requests, staged),
    uncounted: fault.address === 'emulator' ? 0 : await attemptsOf(world, run.runId),
  };
}

function gapAfterFirstFault(requests: Requests, { fault }: StagedFault): number | undefined {
  const index = fault.before.length;
  const [struck, next] = [requests[index], requests[index + 1]];
  return struck === undefined || next === undefined ? undefined : next.atMs - struck.atMs;
}

/** All that was seen of a row; to be asked when nothing of the section runs any more. */
export function seenFault(requests: Requests, staged: StagedFault, played: PlayedFault): SeenFault {
  const { fault, mounts } = staged;
  const faulty = requestsTo(requests, mounts.faulty);
  const second = requestsTo(requests, mounts.second);
  const struck = faulty.filter(
    ({ answer, progress }) =>
      answer.type === 'step' && fault.faults.includes(answer.step) && progress.landed,
  );
  const { callsAtEnd } = played;
  const gapMs = gapAfterFirstFault(faulty, staged);
  return {
    ...(played.outcome === undefined ? {} : { outcome: played.outcome }),
    landed: struck.length,
    calls: { faulty: faulty.length + played.uncounted, second: second.length },
    lateCalls: faulty.length + second.length - callsAtEnd.faulty - callsAtEnd.second,
    refusals: [...faulty, ...second].flatMap(({ answer }) =>
      answer.type === 'refused' ? [answer.error.message ?? `status ${answer.error.status}`] : [],
    ),
    toolRuns: staged.toolRuns,
    ...(gapMs === undefined ? {} : { gapMs }),
  };
}
