/** `holdfast gc`: removes from the store what no run in Temporal's retention reaches. */
import { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { Store } from '../../activities/store';
import type { SweepResult, SweptKind } from '../../activities/stores/sweep';
import type { CommandContext, CommonOptions } from '../../client/commands/command-context';
import { print } from '../../client/commands/command-context';
import { retainedReferences } from '../../client/retained-references';
import { connectClient } from '../connection';
import { readEnvironment } from '../env';
import { SetupError } from '../setup-error';
import { openEnvironmentStore } from './local-worker';
import { reachTemporal } from './reach-temporal';

interface Options extends CommonOptions {
  readonly dryRun?: boolean;
  readonly grace: number;
  readonly force?: boolean;
}

/** Default grace: longer than any call may take, the store's wait for its history included (ADR 0025). */
const defaultGrace = '24h';
/** Shortest grace in milliseconds: what is written and not yet in a history must not be taken for lost (ADR 0025). */
const shortestGraceMs = 60_000;

const units: { readonly [unit: string]: number } = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of `90m`, `24h`, `7d`. */
function durationOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  const ms = Number(count) * (units[unit] ?? 0);
  if (ms >= shortestGraceMs) return ms;
  throw new InvalidArgumentError('Give a duration of at least a minute, such as 90m, 24h or 7d.');
}

/** Adds the command. */
export function addGc(program: Command, context: CommandContext): void {
  program
    .command('gc')
    .description("remove from the store what no run in Temporal's retention reaches")
    .option('--dry-run', 'only say what would be removed')
    .option(
      '--grace <duration>',
      'keep what was written within this time',
      durationOf,
      durationOf(defaultGrace),
    )
    .option('--force', 'also where no run of the namespace names this store')
    .option('--json', 'one JSON object')
    .action((options: Options) => collect(context, options));
}

async function collect(context: CommandContext, options: Options): Promise<void> {
  const environment = readEnvironment();
  const store = await openEnvironmentStore(environment);
  try {
    const server = await reachTemporal(environment);
    const connection = await connectClient(server.connect);
    try {
      const client = new Client({ connection, namespace: server.namespace });
      const { namespace } = server;
      const result = await collectGarbage(client, store, { ...options, namespace });
      print(
        context,
        options,
        { store: store.label, dryRun: options.dryRun === true, ...result },
        textOf(result, options),
      );
    } finally {
      await connection.close();
    }
  } finally {
    await store.close();
  }
}

/**
 * Reads what is retained, then sweeps.
 *
 * Errors: `SetupError` where no run of the namespace names the store: then it is another server's or namespace's store, and
 * all of it would seem lost.
 */
export async function collectGarbage(
  client: Client,
  store: Store,
  options: { dryRun?: boolean; force?: boolean; grace: number; namespace: string },
): Promise<SweepResult & { readonly segments: number }> {
  // Before the list is read: what is written from now on is young.
  const nowMs = Date.now();
  const { hashes, runKeys, storeIds, segments } = await retainedReferences(client.workflow);
  if (!storeIds.has(store.id) && options.force !== true)
    throw new SetupError(
      `No run in namespace "${options.namespace}" names the store ${store.id} (${store.label}), so all of it would be removed. Check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and HOLDFAST_STORE; if it is meant, give --force.`,
    );
  const { dryRun = false, grace: graceMs } = options;
  const swept = await store.sweep({ roots: hashes, runKeys, graceMs, dryRun, nowMs });
  return { ...swept, segments };
}

function sizeText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_024 ** 2) return `${(bytes / 1_024).toFixed(1)} KiB`;
  return `${(bytes / 1_024 ** 2).toFixed(1)} MiB`;
}

function textOf(result: SweepResult & { readonly segments: number }, { dryRun }: Options): string {
  const verb = dryRun === true ? 'would remove' : 'removed';
  const line = (name: string, { removed, removedBytes, kept }: SweptKind): string =>
    `${name.padEnd(17)} ${verb} ${String(removed).padStart(7)} (${sizeText(removedBytes)}), kept ${kept}`;
  return [
    `histories read    ${result.segments}`,
    line('transcript nodes', result.nodes),
    line('blobs', result.blobs),
    line('chunks of blobs', result.chunks),
    line('tool records', result.toolRecords),
  ].join('\n');
}
