/** `holdfast show`: where one run is, what waits, and how it went. */
import { contextText } from '../../workflows/core/context-view';
import type { Command } from 'commander';
import { costText } from '../../workflows/core/run-cost';
import { recoveryLine } from '../../workflows/core/recovery-view';
import type { PendingItem, RunStatusView } from '../../workflows/core/status-view';
import type { TimelineEntry } from '../../workflows/core/run-protocol';
import { cachedText } from '../../workflows/core/usage';
import type { CommandContext, CommonOptions } from './command-context';
import { print, withClient } from './command-context';
import { duration, printable, shortNumber } from './terminal-text';
import { pendingLine, storyLine } from './timeline-lines';

interface Options extends CommonOptions {
  readonly events?: boolean;
}

/** Adds the command. */
export function addShow(program: Command, context: CommandContext): void {
  program
    .command('show')
    .description('show where a run is, what it waits for and how it went')
    .argument('<run>', 'id of the run')
    .option('--events', 'with the whole story')
    .option('--json', 'one JSON object')
    .action(async (runId: string, options: Options) => {
      const shown = await withClient(context, async (client) => {
        const run = client.run(runId);
        const entries: TimelineEntry[] = [];
        const [status, pending] = await Promise.all([run.status(), run.pending()]);
        if (options.events === true) for await (const entry of run.events()) entries.push(entry);
        return { status, pending, entries };
      });
      const { status, pending, entries } = shown;
      const events = options.events === true ? { events: entries } : {};
      const value = { runId, ...status, pending, ...events };
      print(context, options, value, showText(runId, status, pending, entries));
    });
}

function progressRows({
  context,
  progress,
  recovery,
}: RunStatusView): [string, string | undefined][] {
  return [
    ['context', context && contextText(context)],
    ['progress', progress && `${progress.progressPercent} %, ${progress.reasoning}`],
    ['recovery', recovery && recoveryLine(recovery)],
  ];
}

/** The text of `show`. */
function showText(
  runId: string,
  status: RunStatusView,
  pending: readonly PendingItem[],
  entries: readonly TimelineEntry[],
): string {
  const { usage } = status;
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const healed = Object.entries(status.healed).map(([code, count]) => `${code} x${count}`);
  const of = status.maxIterations === undefined ? '' : ` of ${status.maxIterations}`;
  const rows: [string, string | undefined][] = [
    ['run', runId],
    ['status', status.status],
    ['agent', status.agent],
    ['goal', status.goal],
    ['doing', status.doing],
    ['reason', status.reason],
    ['iteration', `${status.iteration}${of}`],
    ['provider', status.route && `${status.route}${status.isFallback ? ' (fallback)' : ''}`],
    ['tools', `${status.toolCallsSucceeded} succeeded, ${status.toolCallsFailed} failed`],
    [
      'tokens',
      `${shortNumber(input)} in${cachedText(status.cachedShare)}, ${shortNumber(usage.outputTokens)} out`,
    ],
    ['cost', status.cost && costText(status.cost)],
    ...progressRows(status),
    ['healed', healed.length === 0 ? undefined : healed.join(', ')],
    ['failovers', status.failovers === 0 ? undefined : String(status.failovers)],
    ['last error', status.lastError],
    ['decided', status.decisions?.map(({ id, what }) => `${id} ${what}`).join('; ')],
    ['segments', status.segments > 1 ? String(status.segments) : undefined],
  ];
  const table = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(10)} ${printable(value)}`],
  );
  const startedAtMs = entries[0]?.atMs ?? 0;
  const story = entries.flatMap((entry) => {
    const said = storyLine(entry);
    return said === undefined
      ? []
      : [`${duration(entry.atMs - startedAtMs).padStart(5)}  ${said.text}`];
  });
  const waiting = pending.map((item) => pendingLine(runId, item).text);
  return [...table, ...waiting, ...(story.length === 0 ? [] : ['', ...story])].join('\n');
}
