/** Counts the workers that one activity has cost, so that a call which ends each worker that takes it is not run for ever. */
import { Context } from '@temporalio/activity';

/** What a beat of a tool call tells: its progress, for people, and how many attempts have ended by themselves, for the next one. */
export interface CallBeat {
  readonly progress: string;
  readonly endedAttempts: number;
}

/** Of what an attempt of any release has left: one that tells no number has told of none. */
function endedAttempts(details: unknown): number {
  if (typeof details !== 'object' || details === null || !('endedAttempts' in details)) return 0;
  return typeof details.endedAttempts === 'number' ? details.endedAttempts : 0;
}

/** An attempt of a tool call, among those before it. */
export interface CountedAttempt {
  /** Earlier attempts that never told their end: their workers died, or were stuck past the heartbeat. */
  readonly lostWorkers: number;
  /** What to beat with. */
  readonly beat: (progress: string) => CallBeat;
  /** Runs the attempt's work, and tells the next attempt if it ends without a result. */
  readonly telling: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/**
 * Counts the attempts before this one.
 *
 * Contract: an attempt that handed its call over (a shutdown, another store, another deploy) is not a lost one. It says so in
 * its last heartbeat, which the SDK sends before the failure.
 */
export function countedAttempt(): CountedAttempt {
  const context = Context.current();
  const ended = endedAttempts(context.info.heartbeatDetails);
  return {
    lostWorkers: Math.max(context.info.attempt - 1 - ended, 0),
    beat: (progress) => ({ progress, endedAttempts: ended }),
    telling: async (work) => {
      try {
        return await work();
      } catch (thrown) {
        context.heartbeat({ progress: '', endedAttempts: ended + 1 } satisfies CallBeat);
        throw thrown;
      }
    },
  };
}
