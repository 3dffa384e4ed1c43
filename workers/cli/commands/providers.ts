/** `holdfast providers`: the health of every route that runs of this store have used, or what each tenant has spent on them today. */
import type { SharedHealth } from '../../../activities/stores/store';
import type { TenantDay } from '../../../activities/stores/tenants/tenant-usage';
import { heldOf, utcDay } from '../../../activities/stores/tenants/tenant-usage';
import { usdOf, usdText } from '../../../workflows/core/budget/spend';
import type { CommandContext, CommonOptions } from '../command-context';
import { withStore } from '../environment-store';
import { printableJson } from '../display/printable';
import { duration, table } from '../display/terminal-text';

function ago(atMs: number | undefined, nowMs: number): string {
  return atMs === undefined ? 'never' : `${duration(nowMs - atMs)} ago`;
}

function healthRow(health: SharedHealth, nowMs: number): readonly string[] {
  const { route, status, errorCount, cooldownUntilMs, lastErrorReason, lastError } = health;
  const cooling = cooldownUntilMs > nowMs ? duration(cooldownUntilMs - nowMs) : '-';
  const error = lastErrorReason === undefined ? '' : `${lastErrorReason}: ${lastError ?? ''}`;
  return [route, status, String(errorCount), cooling, ago(health.lastSuccessAtMs, nowMs), error];
}

function tenantRow(usage: TenantDay): readonly string[] {
  const { tenant, day, spent, requests } = usage;
  const held = heldOf(usage);
  return [
    ...[tenant, day, usdText(spent.nanoUsd), usdText(held.nanoUsd)],
    ...[spent.tokens, held.tokens, requests].map(String),
  ];
}

function tenantJson(usage: TenantDay): object {
  const { tenant, day, spent, requests } = usage;
  const held = heldOf(usage);
  return {
    ...{ tenant, day, usd: usdOf(spent.nanoUsd), heldUsd: usdOf(held.nanoUsd) },
    ...{ tokens: spent.tokens, heldTokens: held.tokens, requests },
  };
}

function print<Item>(
  { output }: CommandContext,
  { json }: CommonOptions,
  found: readonly Item[],
  { none, title, row, asJson }: Listing<Item>,
): void {
  if (json === true) for (const item of found) output.write(`${printableJson(asJson(item))}\n`);
  else if (found.length === 0) output.note(none);
  else output.write(`${table([title, ...found.map(row)], output.columns()).join('\n')}\n`);
}

/** How a list is shown. */
interface Listing<Item> {
  readonly none: string;
  readonly title: readonly string[];
  readonly row: (item: Item) => readonly string[];
  readonly asJson: (item: Item) => object;
}

/** Prints one row per route, or per tenant. */
export async function providers(
  context: CommandContext,
  options: CommonOptions & { readonly tenants?: boolean },
): Promise<void> {
  await withStore(context, async (store) => {
    const nowMs = await store.now();
    if (options.tenants !== true)
      print(context, options, await store.listHealth(), {
        none: 'No provider has been used with this store.',
        title: ['PROVIDER', 'STATUS', 'ERRORS', 'COOLS', 'LAST ANSWER', 'LAST ERROR'],
        row: (health) => healthRow(health, nowMs),
        asJson: (health) => health,
      });
    else
      print(context, options, await store.tenants.usage(utcDay(nowMs)), {
        none: `No tenant with a cap has spent anything on ${utcDay(nowMs)} (UTC). Caps: HOLDFAST_TENANT_CAPS, or tenantCaps of createActivities.`,
        title: ['TENANT', 'DAY (UTC)', 'SPENT', 'IN FLIGHT', 'TOKENS', 'IN FLIGHT', 'REQUESTS'],
        row: tenantRow,
        asJson: tenantJson,
      });
  });
}
