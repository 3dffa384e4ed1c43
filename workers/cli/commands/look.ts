/** `holdfast list`, `show` and `watch`: what needs only a client. */
import type { AgentClient } from '../../../client/agent-client';
import type { ListOptions, RunSummary } from '../../../client/list-runs';
import type { RunHandle } from '../../../client/run-handle';
import { defined } from '../../../workflows/core/json';
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';
import { createLiveDisplay } from '../display/live-display';
import { runText } from '../display/run-text';
import { printableJson } from '../display/printable';
import { duration, table } from '../display/terminal-text';
import { exitCodeOf, exitCodes } from '../exit-codes';

/** Lists the runs. */
export async function list(
  context: CommandContext,
  { json, ...filter }: CommonOptions & ListOptions,
): Promise<void> {
  const runs = await withClient(context, (client) => client.list(filter));
  const { output } = context;
  if (json === true) for (const run of runs) output.write(`${printableJson(run)}\n`);
  else if (runs.length === 0) output.note('No runs.');
  else output.write(`${runTable(runs, output.columns()).join('\n')}\n`);
}

/** A table that is cut to the width; the run's id is never cut, so that it can be copied. */
export function runTable(runs: readonly RunSummary[], columns: number): readonly string[] {
  const nowMs = Date.now();
  const rows = runs.map((run) => [
    run.runId,
    run.status,
    run.agent,
    run.iteration === undefined ? '' : String(run.iteration),
    duration((run.closedAtMs ?? nowMs) - run.startedAtMs),
    run.reason ?? run.route ?? '',
  ]);
  return table([['RUN', 'STATUS', 'AGENT', 'ITER', 'TIME', 'DETAIL'], ...rows], columns);
}

/** Shows the run. */
export async function show(
  context: CommandContext,
  runId: string,
  options: CommonOptions & { readonly events?: boolean; readonly arguments?: string | true },
): Promise<void> {
  const shown = await withClient(context, async (client) => {
    const run = client.run(runId);
    const entries: TimelineEntry[] = [];
    const [status, asked] = await Promise.all([run.status(), run.pending()]);
    // Two answers of a run in progress: it may have begun to wait between them.
    const isStale = status.status === 'waiting' && asked.length === 0;
    const pending = isStale ? await run.pending() : asked;
    if (options.events === true) for await (const entry of run.events()) entries.push(entry);
    const isOver = status.status !== 'running' && status.status !== 'waiting';
    const outcome = isOver ? await run.outcome() : undefined;
    return { runId, status, pending, entries, outcome };
  });
  const { status, entries, outcome } = shown;
  const { arguments: wanted } = options;
  const isWhole = wanted !== undefined;
  const approvalId = wanted === true ? undefined : wanted;
  // A store loads late: most looks need only a client.
  const pending = isWhole
    ? await (await import('./whole-arguments.ts')).withWholeArguments(context, shown, approvalId)
    : shown.pending;
  const events = options.events === true ? { events: entries } : {};
  const value = { runId, ...status, pending, outcome, ...events };
  print(context, options, value, runText({ ...shown, pending, isWhole }, context.output));
}

/** Follows the run until it ends, or a signal ends the watching. */
export async function watch(
  context: CommandContext,
  runId: string,
  options: CommonOptions,
): Promise<void> {
  const leave = new AbortController();
  const interrupt = (): void => {
    leave.abort();
  };
  // Only who shows text needs a store, which loads late.
  const store =
    options.json === true || context.output.isTerminal
      ? await (await import('../environment-store.ts')).findEnvironmentStore(context)
      : undefined;
  // Once each: a second signal ends the process.
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const follow = (client: AgentClient): Promise<void> =>
      watchRun(context, client.run(runId), options, leave.signal, store !== undefined);
    await withClient(context, follow, defined({ store }));
    if (leave.signal.aborted) context.exitWith(exitCodes.interrupted);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    await store?.close();
  }
}

/**
 * Shows the run until it has ended, and sets the exit code by its end.
 *
 * Contract: `hasStore` says that the run's client was given a store. When `signal` is aborted it returns, with the terminal restored and the exit code untouched.
 */
export async function watchRun(
  { output, exitWith }: Pick<CommandContext, 'output' | 'exitWith'>,
  run: Pick<RunHandle, 'runId' | 'watch' | 'outcome'>,
  { json = false }: CommonOptions,
  signal?: AbortSignal,
  hasStore = false,
): Promise<void> {
  const display = createLiveDisplay(output, run.runId, json);
  try {
    const text = hasStore ? ({ text: true } as const) : {};
    for await (const moment of run.watch({ follow: true, ...text, ...defined({ signal }) }))
      display.show(moment);
    if (signal?.aborted === true) return;
    const outcome = await run.outcome();
    display.end(outcome);
    exitWith(exitCodeOf(outcome.status));
  } finally {
    display.close();
  }
}
