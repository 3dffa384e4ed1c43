/** `holdfast providers`: the health of every route that runs of this store have used. */
import type { SharedHealth } from '../../../activities/stores/store';
import type { CommandContext, CommonOptions } from '../command-context';
import { withStore } from '../environment-store';
import { printableJson } from '../display/printable';
import { duration, table } from '../display/terminal-text';

function ago(atMs: number | undefined, nowMs: number): string {
  return atMs === undefined ? 'never' : `${duration(nowMs - atMs)} ago`;
}

function row(health: SharedHealth, nowMs: number): readonly string[] {
  const { route, status, errorCount, cooldownUntilMs, lastErrorReason, lastError } = health;
  const cooling = cooldownUntilMs > nowMs ? duration(cooldownUntilMs - nowMs) : '-';
  const error = lastErrorReason === undefined ? '' : `${lastErrorReason}: ${lastError ?? ''}`;
  return [route, status, String(errorCount), cooling, ago(health.lastSuccessAtMs, nowMs), error];
}

/** Prints one row per route. */
export async function providers(context: CommandContext, { json }: CommonOptions): Promise<void> {
  const { output } = context;
  const { found, nowMs } = await withStore(context, async (store) => {
    return { found: await store.listHealth(), nowMs: await store.now() };
  });
  if (json === true) for (const health of found) output.write(`${printableJson(health)}\n`);
  else if (found.length === 0) output.note('No provider has been used with this store.');
  else {
    const title = ['PROVIDER', 'STATUS', 'ERRORS', 'COOLS', 'LAST ANSWER', 'LAST ERROR'];
    const rows = found.map((health) => row(health, nowMs));
    output.write(`${table([title, ...rows], output.columns()).join('\n')}\n`);
  }
}
