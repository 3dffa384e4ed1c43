/** `holdfast list`: runs in progress, then those that ended last. */
import type { RunSummary, ListOptions } from '../../../client/list-runs';
import type { CommandContext, CommonOptions } from '../command-context';
import { withClient } from '../command-context';
import { duration, printable, table } from '../display/terminal-text';

/** Lists the runs. */
export async function list(
  context: CommandContext,
  { json, ...filter }: CommonOptions & ListOptions,
): Promise<void> {
  const runs = await withClient(context, (client) => client.list(filter));
  const { output } = context;
  if (json === true) for (const run of runs) output.write(`${JSON.stringify(run)}\n`);
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
    printable(run.reason ?? run.route ?? ''),
  ]);
  return table([['RUN', 'STATUS', 'AGENT', 'ITER', 'TIME', 'DETAIL'], ...rows], columns);
}
