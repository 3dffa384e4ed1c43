/** `holdfast patterns`: what runs have learned, and people's word on it. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { CommonOptions } from '../command-context';
import type { PatternStatus } from '../../../activities/stores/patterns/pattern-shape';
import type { CommandLineContext } from '../command-line-context';
import type { PatternFilter, ScheduleOptions } from './patterns-action';

const statuses: readonly PatternStatus[] = ['candidate', 'active', 'demoted', 'disabled'];

function filtered(command: Command): Command {
  return command
    .option('--tenant <name>', 'only patterns of this tenant')
    .option('--tool <name>', "only patterns for this tool's errors")
    .addOption(new Option('--status <status>', 'only patterns of this status').choices(statuses))
    .option('--json', 'JSON lines: one pattern each');
}

function listCommand(context: CommandLineContext): Command {
  return filtered(new Command('list').description('list patterns, oldest first')).action(
    async (options: PatternFilter) => {
      const { listPatterns } = await import('./patterns-action.ts');
      await listPatterns(context, options);
    },
  );
}

function showCommand(context: CommandLineContext): Command {
  return new Command('show')
    .description('show one pattern and what it is worth')
    .argument('<pattern>', 'id of the pattern')
    .option('--json', 'one JSON object')
    .action(async (id: string, options: CommonOptions) => {
      const { showPattern } = await import('./patterns-action.ts');
      await showPattern(context, id, options);
    });
}

/** A person's word: `disable` holds until `enable`, which leaves the pattern to its evidence again. */
function switchCommand(context: CommandLineContext, name: 'disable' | 'enable'): Command {
  const about =
    name === 'disable'
      ? 'never use a pattern again, whatever its evidence'
      : 'let its evidence decide about a pattern again';
  return new Command(name)
    .description(about)
    .argument('<pattern>', 'id of the pattern')
    .option('--json', 'one JSON object')
    .action(async (id: string, options: CommonOptions) => {
      const { switchPattern } = await import('./patterns-action.ts');
      await switchPattern(context, name, id, options);
    });
}

function exportCommand(context: CommandLineContext): Command {
  return filtered(
    new Command('export').description('print patterns as JSON lines, with their corpus if asked'),
  )
    .option('--observations', 'with the observations, each marked by "type"')
    .action(async (options: PatternFilter & { readonly observations?: boolean }) => {
      const { exportPatterns } = await import('./patterns-action.ts');
      await exportPatterns(context, options);
    });
}

function minutes(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 10_080)
    throw new InvalidArgumentError('Give a whole number of minutes from 1 to 10080.');
  return value;
}

function scheduleCommand(context: CommandLineContext): Command {
  return new Command('schedule')
    .description('let Temporal draw patterns from the corpus regularly; harmless to repeat')
    .option(
      '--every <minutes>',
      'minutes between two extractions (default: as it is, else 60)',
      minutes,
    )
    .option('--task-queue <name>', 'task queue (default: HOLDFAST_TASK_QUEUE or holdfast)')
    .option('--json', 'one JSON object')
    .action(async (options: ScheduleOptions) => {
      const { schedulePatternsHere } = await import('./patterns-action.ts');
      await schedulePatternsHere(context, options);
    });
}

/** Adds the command and what it can do. */
export function addPatterns(program: Command, context: CommandLineContext): void {
  const patterns = program
    .command('patterns')
    .description('what runs have learned: list, show, disable, enable, export, schedule');
  const parts = [
    listCommand(context),
    showCommand(context),
    switchCommand(context, 'disable'),
    switchCommand(context, 'enable'),
    exportCommand(context),
    scheduleCommand(context),
  ];
  for (const part of parts)
    patterns.addCommand(
      part
        .exitOverride()
        .configureOutput(program.configureOutput())
        .showHelpAfterError(`(see holdfast patterns ${part.name()} --help)`),
    );
}
