/** Follows a run to its end on the output. */
import type { RunHandle } from '../../../client/run-handle';
import type { CommandContext, CommonOptions } from '../command-context';
import { exitCodeOf } from '../exit-codes';
import { createLiveDisplay } from '../display/live-display';

/**
 * Shows the run until it has ended, and sets the exit code by its end.
 *
 * Contract: when `signal` is aborted it returns, with the terminal as it was and the exit code untouched.
 */
export async function watchRun(
  { output, exitWith }: CommandContext,
  run: Pick<RunHandle, 'runId' | 'watch' | 'outcome'>,
  { json = false }: CommonOptions,
  signal?: AbortSignal,
): Promise<void> {
  const display = createLiveDisplay(output, run.runId, json);
  try {
    const options = { follow: true, ...(signal === undefined ? {} : { signal }) };
    for await (const moment of run.watch(options)) display.show(moment);
    if (signal?.aborted === true) return;
    const outcome = await run.outcome();
    display.end(outcome);
    exitWith(exitCodeOf(outcome.status));
  } finally {
    display.close();
  }
}
