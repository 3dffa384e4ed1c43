/** Attempts of one tool call: counts lost ones, and runs one at a time in this process. */
import { setTimeout as sleep } from 'node:timers/promises';
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
  /** A later attempt has come to this process, and takes the result of this one. */
  isFollowed: boolean;
  /** Whether no other worker has taken the call over; asked once it is executing. */
  owns: () => Promise<boolean>;
}

const running = new Map<string, RunningAttempt & { readonly ended: Promise<unknown> }>();

/** A result, and whether it came from an attempt that had been stopped: a local one that took too long (ADR 0051). */
interface EndedAttempt {
  readonly result: unknown;
  readonly wasStopped: boolean;
}

/** Results of ended attempts, in case the server had already given them up. */
const ended = new Map<string, EndedAttempt>();

/** Results kept in memory: more than a worker runs at once. */
const keptResults = 500;

function keep(key: string, attempt: EndedAttempt): void {
  ended.delete(key);
  ended.set(key, attempt);
  for (const oldest of ended.keys()) {
    if (ended.size <= keptResults) return;
    ended.delete(oldest);
  }
}

/** Milliseconds on top of the pause before the next attempt, for it to reach this process, which may be full. */
const arrivalMs = 10_000;
/** Longest pause in milliseconds before an attempt; the first is 1 s, and each is twice the one before (`activity-proxies.ts`). */
const longestRetryMs = 30_000;
/** Milliseconds between two looks whether another worker has taken such a call over. */
const lookEveryMs = 500;

/**
 * Resolves when a call that the server has given up must end, or has.
 *
 * The time is counted in looks: while tools block the event loop, no next attempt can come.
 */
async function lost(attempt: RunningAttempt, number: number, ended: AbortSignal): Promise<void> {
  const pauseMs = Math.min(1_000 * 2 ** (number - 1), longestRetryMs);
  let looks = Math.ceil((pauseMs + arrivalMs) / lookEveryMs);
  const isOwned = (): Promise<boolean> => attempt.owns().catch(() => true);
  while ((attempt.isFollowed || looks > 0) && (await isOwned())) {
    if (ended.aborted) return;
    looks -= 1;
    await sleep(lookEveryMs, undefined, { signal: ended }).catch(() => undefined);
  }
}

/**
 * Stops an attempt when its activity is cancelled; returns what ends that.
 *
 * Contract: one that the server no longer knows, most often for a late heartbeat, does not stop while it may still be followed in
 * this process, and no other worker has taken it over: nothing is wrong with a call beside one that blocks the event loop, or
 * whose heartbeats a busy server or a slow network kept. Whether this process was late itself says nothing about those.
 */
function stopWhenCancelled(attempt: RunningAttempt): () => void {
  const context = Context.current();
  const { cancellationSignal } = context;
  const ended = new AbortController();
  const stop = (): void => {
    attempt.stop.abort(cancellationSignal.reason);
  };
  const onCancel = (): void => {
    const { notFound = false, timedOut = false } = context.cancellationDetails ?? {};
    // A local one has its limit, and an ordinary one after it.
    if ((notFound || timedOut) && !context.info.isLocal)
      void lost(attempt, context.info.attempt, ended.signal).then(stop);
    else stop();
  };
  if (cancellationSignal.aborted) onCancel();
  else cancellationSignal.addEventListener('abort', onCancel, { once: true });
  return () => {
    cancellationSignal.removeEventListener('abort', onCancel);
    // With a reason: to make one takes a stack.
    ended.abort('the attempt has ended');
  };
}

/** What an attempt's work gets. */
export interface AttemptStop {
  /** Aborted when people, the worker's shutdown or another worker end the call. */
  readonly stopped: AbortSignal;
  /** Says how to find out whether the call is still this attempt's, once it is executing. */
  readonly ownedWhile: (owns: () => Promise<boolean>) => void;
}

/**
 * Runs an attempt after the earlier one of the same key has ended: a probe or a repeat during a running effect would find
 * nothing and do it twice.
 *
 * Contract: if the earlier one has a result, it is this one's: the server had given it up too early, since a tool blocked this
 * process, and to stop it would help nobody. What stops this attempt stops that one. Attempts in other processes are stopped when
 * they see that they were given up and taken over, if the tool heeds its signal.
 */
export async function afterEarlierAttempt<Result>(
  key: string,
  attempt: number,
  work: (stop: AttemptStop) => Promise<Result>,
): Promise<Result> {
  const earlier = running.get(key);
  const stop = new AbortController();
  const mine: RunningAttempt = { stop, isFollowed: false, owns: () => Promise.resolve(true) };
  const endStopping = stopWhenCancelled(mine);
  const run = async (): Promise<Result> => {
    if (earlier !== undefined) {
      earlier.isFollowed = true;
      stop.signal.addEventListener('abort', () => {
        earlier.stop.abort(stop.signal.reason);
      });
      const hasResult = await earlier.ended.then(
        () => true,
        () => false,
      );
      // Of the same key, so of the same kind of work.
      if (hasResult) return earlier.ended as Promise<Result>;
    }
    const last = ended.get(key);
    if (last !== undefined && (attempt > 1 || last.wasStopped)) return last.result as Result;
    const result = await work({
      stopped: stop.signal,
      ownedWhile: (owns) => {
        mine.owns = owns;
      },
    });
    keep(key, { result, wasStopped: stop.signal.aborted });
    return result;
  };
  const entry = Object.assign(mine, { ended: run() });
  running.set(key, entry);
  try {
    return await entry.ended;
  } finally {
    endStopping();
    if (running.get(key) === entry) running.delete(key);
  }
}
