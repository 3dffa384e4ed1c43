/** Attempts of one tool call: counts lost ones, and runs one at a time in this process. */
import { InfraException } from '../lifecycle/infra-exception';
import { Context } from '@temporalio/activity';

/** A heartbeat's details of a tool call: its progress, for people, and how many attempts ended by themselves, for the next one. */
export interface CallBeat {
  readonly progress: string;
  readonly endedAttempts: number;
}

/** Reads what an earlier attempt left; without a number it counts as none. */
function endedAttempts(details: unknown): number {
  if (typeof details !== 'object' || details === null || !('endedAttempts' in details)) return 0;
  return typeof details.endedAttempts === 'number' ? details.endedAttempts : 0;
}

/** An attempt of a tool call, among those before it. */
export interface CountedAttempt {
  /** Earlier attempts that never reported their end: their workers died, or were stuck past the heartbeat. */
  readonly lostWorkers: number;
  /** What to beat with. */
  readonly beat: (progress: string) => CallBeat;
  /** Runs the attempt's work, and informs the next attempt if it ends without a result. */
  readonly reportingEnd: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/**
 * Counts the attempts before this one.
 *
 * Contract: an attempt that gave its call back (a shutdown, another store, another deploy) is not lost. It says so in
 * its last heartbeat, which the SDK sends before the failure.
 */
export function countedAttempt(): CountedAttempt {
  const context = Context.current();
  const ended = endedAttempts(context.info.heartbeatDetails);
  return {
    lostWorkers: Math.max(context.info.attempt - 1 - ended, 0),
    beat: (progress) => ({ progress, endedAttempts: ended }),
    reportingEnd: async (work) => {
      try {
        return await work();
      } catch (thrown) {
        context.heartbeat({ progress: '', endedAttempts: ended + 1 } satisfies CallBeat);
        throw thrown;
      }
    },
  };
}

interface RunningAttempt {
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
}

const running = new Map<string, RunningAttempt>();

/** Results of ended attempts, in case the server had already given them up. */
const ended = new Map<string, unknown>();

/** Results kept in memory: more than a worker runs at once. */
const keptResults = 500;

function keep(key: string, result: unknown): void {
  ended.delete(key);
  ended.set(key, result);
  for (const oldest of ended.keys()) {
    if (ended.size <= keptResults) return;
    ended.delete(oldest);
  }
}

/** The abort reason when a later attempt starts; not an error of the tool. */
function superseded(): InfraException {
  return new InfraException({
    code: 'worker_lost',
    message: 'The call was assigned to this worker again because its heartbeat was late.',
  });
}

/**
 * Runs an attempt after the earlier one of the same key has ended: a probe or a repeat during a running effect would find
 * nothing and do it twice. The signal stops the earlier attempt.
 *
 * Contract: this attempt sees everything that the earlier one still records, and a result that was too late for the server,
 * since the tool blocked this process, is given to the next attempt: it would block again. Attempts in other processes are
 * stopped by their own heartbeat, if the tool heeds its signal.
 */
export async function afterEarlierAttempt<Result>(
  key: string,
  attempt: number,
  work: (isSuperseded: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const earlier = running.get(key);
  const stop = new AbortController();
  const run = async (): Promise<Result> => {
    earlier?.stop.abort(superseded());
    await earlier?.ended.catch(() => undefined);
    // Only this function keeps results, under the key of their one kind of work.
    if (attempt > 1 && ended.has(key)) return ended.get(key) as Result;
    const result = await work(stop.signal);
    keep(key, result);
    return result;
  };
  const outcome = run();
  const mine: RunningAttempt = { stop, ended: outcome };
  running.set(key, mine);
  try {
    return await outcome;
  } finally {
    if (running.get(key) === mine) running.delete(key);
  }
}
