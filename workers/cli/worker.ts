/** `holdfast worker`: takes runs until it is told to end. */
import type { Command } from 'commander';
import type { CommandContext } from '../../client/commands/command-context';
import { readEnvironment } from '../env';
import { localAgents } from './local-agents';
import { createLocalWorker } from './local-worker';
import { reachTemporal } from './reach-temporal';

interface Options {
  readonly agents?: string;
  readonly model?: string;
  readonly taskQueue?: string;
  readonly json?: boolean;
}

/** Adds the command. */
export function addWorker(program: Command, { output }: CommandContext): void {
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
    .action(async (options: Options) => {
      const environment = readEnvironment();
      const taskQueue = options.taskQueue ?? environment.taskQueue;
      const { agents: file, model } = options;
      const agents = await localAgents(environment, {
        ...(file === undefined ? {} : { file }),
        ...(model === undefined ? {} : { model }),
      });
      const reach = (): ReturnType<typeof reachTemporal> => reachTemporal(environment);
      const local = await createLocalWorker({ environment, taskQueue, agents, reach });
      const { address, namespace, uiUrl } = local.server;
      const names = agents.agents.map(({ name }) => name);
      const ready = { type: 'WorkerReady', address, namespace, taskQueue, agents: names, uiUrl };
      const web = uiUrl === undefined ? '' : `, Web UI ${uiUrl}`;
      output.write(
        options.json === true
          ? `${JSON.stringify(ready)}\n`
          : `worker for ${names.join(', ')} on task queue ${taskQueue} at ${address}${web}\n`,
      );
      try {
        await local.worker.run();
      } finally {
        await local.dispose();
      }
    });
}
