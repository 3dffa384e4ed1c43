/** `holdfast gc`: removes from the store what no run in Temporal's retention reaches. */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { CommandLineContext } from '../command-line-context';
import type { GarbageOptions } from './gc-action';

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
export function addGc(program: Command, context: CommandLineContext): void {
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
    .action(async (options: GarbageOptions) => {
      const { collect } = await import('./gc-action.ts');
      await collect(context, options);
    });
}
