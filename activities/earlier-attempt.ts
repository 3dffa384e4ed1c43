/** One attempt of a tool call at a time in this process: a worker that was only slow may be given a call again. */
import { InfraException } from './infra-exception';

interface RunningAttempt {
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
}

const running = new Map<string, RunningAttempt>();

/** The reason of an abort by a later attempt: nothing is known against the tool. */
function superseded(): InfraException {
  return new InfraException({
    code: 'worker_lost',
    message: 'The call was given to this worker again, since its heartbeat came too late.',
  });
}

/**
 * Runs an attempt after the earlier one of the same key has ended: a probe or a repeat beside an effect that is still under way
 * would find nothing and do it twice. The earlier one is told to stop by the signal.
 *
 * Contract: whatever the earlier attempt still records is seen by this one. Attempts in other processes are stopped by their
 * own heartbeat, if the tool heeds its signal.
 */
export async function afterEarlierAttempt<Result>(
  key: string,
  work: (isSuperseded: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const earlier = running.get(key);
  const stop = new AbortController();
  const run = async (): Promise<Result> => {
    earlier?.stop.abort(superseded());
    await earlier?.ended.catch(() => undefined);
    return work(stop.signal);
  };
  const ended = run();
  const mine: RunningAttempt = { stop, ended };
  running.set(key, mine);
  try {
    return await ended;
  } finally {
    if (running.get(key) === mine) running.delete(key);
  }
}
