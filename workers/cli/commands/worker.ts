/** `holdfast worker`: takes runs until it is told to end. */
import type { Command } from 'commander';
import type { CommandLineContext } from '../command-line-context';
import type { WorkerOptions } from './worker-action';

/** Adds the command. */
export function addWorker(program: Command, context: CommandLineContext): void {
  program
    .command('worker')
    .description('work on runs until SIGINT or SIGTERM')
    .option('--agents <file>', 'module that exports `agents` (default: the built-in agent "coder")')
    .option(
      '--model <provider/model>',
      'model of the built-in agent; others after a comma take over',
    )
    .option('--task-queue <name>', 'task queue (default: HOLDFAST_TASK_QUEUE or holdfast)')
    .option('--json', 'JSON lines')
    .action(async (options: WorkerOptions) => {
      const { work } = await import('./worker-action.ts');
      await work(context, options);
    });
}
