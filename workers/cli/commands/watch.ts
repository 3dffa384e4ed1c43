/** `holdfast watch`: follows a run live, from its beginning. */
import type { RunHandle } from '../../../client/run-handle';
import { defined } from '../../../workflows/core/json';
import type { CommandContext, CommonOptions } from '../command-context';
import { withClient } from '../command-context';
import { createLiveDisplay } from '../display/live-display';
import { exitCodeOf, exitCodes } from '../exit-codes';

/** Follows the run until it ends, or a signal ends the watching. */
export async function watch(
  context: CommandContext,
  runId: string,
  options: CommonOptions,
): Promise<void> {
  await withClient(context, async (client) => {
    const leave = new AbortController();
    const interrupt = (): void => {
      leave.abort();
    };
    // Once each: a second signal ends the process.
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
    try {
      await watchRun(context, client.run(runId), options, leave.signal);
      if (leave.signal.aborted) context.exitWith(exitCodes.interrupted);
    } finally {
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    }
  });
}

/**
 * Shows the run until it has ended, and sets the exit code by its end.
 *
 * Contract: when `signal` is aborted it returns, with the terminal restored and the exit code untouched.
 */
export async function watchRun(
  { output, exitWith }: Pick<CommandContext, 'output' | 'exitWith'>,
  run: Pick<RunHandle, 'runId' | 'watch' | 'outcome'>,
  { json = false }: CommonOptions,
  signal?: AbortSignal,
): Promise<void> {
  const display = createLiveDisplay(output, run.runId, json);
  try {
    for await (const moment of run.watch({ follow: true, ...defined({ signal }) }))
      display.show(moment);
    if (signal?.aborted === true) return;
    const outcome = await run.outcome();
    display.end(outcome);
    exitWith(exitCodeOf(outcome.status));
  } finally {
    display.close();
  }
}
