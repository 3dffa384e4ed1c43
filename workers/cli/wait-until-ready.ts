/** A worker that starts before its store or Temporal waits for them: after a power cut the order of starts must not matter. */
import { setTimeout as delay } from 'node:timers/promises';
import { UnreachableError } from '../setup-error';

/** Milliseconds between two tries: a refused connection costs nobody anything. */
const pauseMs = 1_000;

/** What must run beside a worker did not answer within the limit; it has an exit code of its own. */
export class NotReadyError extends UnreachableError {}

/** What does not answer, if that is why it was thrown. */
function unreachableOf(thrown: unknown): UnreachableError | undefined {
  if (thrown instanceof UnreachableError) return thrown;
  return thrown instanceof Error && thrown.cause instanceof UnreachableError
    ? thrown.cause
    : undefined;
}

/**
 * Opens what does not answer yet again and again; says for what it waits whenever that changes.
 *
 * Errors: `NotReadyError` after `limitMs`; every other error of `open` at once.
 */
export async function waitUntilReady<Opened>(
  open: () => Promise<Opened>,
  limitMs: number,
  note: (line: string) => void,
): Promise<Opened> {
  const deadlineAtMs = Date.now() + limitMs;
  let noted: string | undefined;
  for (;;) {
    try {
      return await open();
    } catch (thrown) {
      const reason = unreachableOf(thrown);
      if (reason === undefined) throw thrown;
      const leftMs = deadlineAtMs - Date.now();
      if (leftMs <= 0)
        throw new NotReadyError(
          `Gave up after ${Math.round(limitMs / 1_000)} s (--wait). ${reason.message}`,
          { cause: thrown },
        );
      if (reason.message !== noted)
        note(`holdfast: waiting up to ${Math.ceil(leftMs / 1_000)} s. ${reason.message}`);
      noted = reason.message;
      await delay(Math.min(pauseMs, leftMs));
    }
  }
}
