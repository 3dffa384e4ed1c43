/** `holdfast run`: starts a run, works on it in this process, and shows it until it has ended. */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { CommandLineContext } from '../command-line-context';
import type { RunOptions } from './run-action';

/** Adds the command. */
export function addRun(program: Command, context: CommandLineContext): void {
  program
    .command('run')
    .description('start a run, work on it here and show it until it has ended')
    .argument('<goal>', 'what the agent is to do')
    .option('--workspace <dir>', 'directory that the agent works in')
    .option('--agent <name>', 'agent to run (default: "coder", or the only one of --agents)')
    .option('--agents <file>', 'module that exports `agents`')
    .option(
      '--model <provider/model>',
      'model of the built-in agent; others after a comma take over',
    )
    .option('--id <id>', 'id of the run')
    .option('--continue <run>', 'go on where a finished run ended; the goal is said to the model')
    .option(
      '--max-iterations <count>',
      'at most so many model calls with their tool calls',
      iterations,
    )
    .option('--budget-usd <amount>', 'at most so many US dollars, subagents included', dollars)
    .option('--budget-tokens <count>', 'at most so many tokens, subagents included', tokens)
    .option(
      '--tenant <name>',
      'whose run it is: it learns from this tenant\'s runs, and they from it (default: "default")',
    )
    .option('--detach', 'only start it; a `holdfast worker` does the work')
    .option('--json', 'JSON lines: each entry of the story, then the outcome')
    .action(async (goal: string, options: RunOptions) => {
      const { run } = await import('./run-action.ts');
      await run(context, goal, options);
    });
}

/** Checked here, so that a run is not started only to fail. */
function iterations(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 10_000_000)
    throw new InvalidArgumentError('Give a whole number from 1 to 10000000.');
  return value;
}

function dollars(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give an amount in US dollars, such as 0.50.');
  return value;
}

function tokens(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('Give a whole number of at least 1.');
  return value;
}
