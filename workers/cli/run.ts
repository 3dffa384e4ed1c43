/** `holdfast run`: starts a run, works on it in this process, and shows it until it has ended. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { AgentClient } from '../../client/agent-client';
import type { CommandContext } from '../../client/commands/command-context';
import { exitCodes } from '../../client/commands/exit-codes';
import { watchRun } from '../../client/commands/watch-run';
import type { StartOptions } from '../../client/start-run';
import { checkStart } from '../../client/start-run';
import { connectClient } from '../connection';
import type { Environment } from '../env';
import { readEnvironment } from '../env';
import { SetupError } from '../setup-error';
import type { TemporalServer } from '../temporal-server';
import type { LocalAgents } from './local-agents';
import { builtInAgentName, localAgents } from './local-agents';
import type { LocalWorker } from './local-worker';
import { createLocalWorker } from './local-worker';
import { reachTemporal } from './reach-temporal';

interface Options {
  readonly workspace?: string;
  readonly agent?: string;
  readonly agents?: string;
  readonly model?: string;
  readonly id?: string;
  readonly continue?: string;
  readonly maxIterations?: number;
  readonly budgetUsd?: number;
  readonly budgetTokens?: number;
  readonly detach?: boolean;
  readonly json?: boolean;
}

/** Adds the command. */
export function addRun(program: Command, context: CommandContext): void {
  program
    .command('run')
    .description('start a run, work on it here and show it until it has ended')
    .argument('<goal>', 'what the agent is to do')
    .option('--workspace <dir>', 'directory that the agent works in')
    .option(
      '--agent <name>',
      `agent to run (default: "${builtInAgentName}", or the only one of --agents)`,
    )
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
    .option('--detach', 'only start it; a `holdfast worker` does the work')
    .option('--json', 'JSON lines: each entry of the story, then the outcome')
    .action((goal: string, options: Options) => run(context, goal, options));
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

/** Undefined where no limit is given. */
function budgetOf({ budgetUsd, budgetTokens }: Options): StartOptions['budget'] {
  if (budgetUsd === undefined && budgetTokens === undefined) return undefined;
  return {
    ...(budgetUsd === undefined ? {} : { usd: budgetUsd }),
    ...(budgetTokens === undefined ? {} : { tokens: budgetTokens }),
  };
}

async function run(context: CommandContext, goal: string, options: Options): Promise<void> {
  const environment = readEnvironment();
  const start = startOptions(goal, options);
  checkStart(start);
  if (start.workspace !== undefined) await checkWorkspace(start.workspace);
  if (options.detach === true) await detach(context, environment, start, options);
  else await workHere(context, environment, start, options);
}

function startOptions(goal: string, options: Options): StartOptions {
  const { workspace, id, maxIterations } = options;
  const budget = budgetOf(options);
  return {
    agent: options.agent ?? builtInAgentName,
    goal,
    ...(workspace === undefined ? {} : { workspace: path.resolve(workspace) }),
    ...(id === undefined ? {} : { runId: id }),
    ...(options.continue === undefined ? {} : { continueFrom: options.continue }),
    ...(maxIterations === undefined ? {} : { limits: { maxIterations } }),
    ...(budget === undefined ? {} : { budget }),
  };
}

async function checkWorkspace(workspace: string): Promise<void> {
  const found = await stat(workspace).catch(() => undefined);
  if (found?.isDirectory() === true) return;
  throw new SetupError(
    `The workspace ${workspace} ${found === undefined ? 'does not exist' : 'is not a directory'}. Give an existing directory (--workspace DIR).`,
  );
}

async function clientOf(server: TemporalServer, environment: Environment): Promise<AgentClient> {
  const connection = await connectClient(server.connect);
  const client = new Client({ connection, namespace: server.namespace });
  return new AgentClient(client, { address: server.address, taskQueue: environment.taskQueue });
}

async function detach(
  { output }: CommandContext,
  environment: Environment,
  start: StartOptions,
  options: Options,
): Promise<void> {
  const { json, agents: file } = options;
  const meant =
    file === undefined ? start : chosen(start, options, await localAgents(environment, { file }));
  const server = await reachTemporal(environment);
  const client = await clientOf(server, environment);
  try {
    const { runId } = await client.start(meant);
    const { address, uiUrl } = server;
    output.write(`${json === true ? JSON.stringify({ runId, address, uiUrl }) : runId}\n`);
    if (json !== true)
      output.note(`Started. Work on it: holdfast worker. Look at it: holdfast watch ${runId}`);
  } finally {
    await client.close();
  }
}

/** The agent that is meant, if this worker has it. */
function chosen(start: StartOptions, options: Options, { agents }: LocalAgents): StartOptions {
  const names = agents.map(({ name }) => name);
  const [only] = names;
  const agent =
    options.agent ?? (names.length === 1 && only !== undefined ? only : builtInAgentName);
  if (names.includes(agent)) return { ...start, agent };
  throw new SetupError(
    `${options.agent === undefined ? 'It is not said which agent is to run' : `No agent is called "${agent}"`}. There are: ${names.join(', ') || 'none'}. Give one of them (--agent NAME), or a file that has it (--agents FILE).`,
  );
}

async function workHere(
  context: CommandContext,
  environment: Environment,
  start: StartOptions,
  options: Options,
): Promise<void> {
  const { agents: file, model } = options;
  const agents = await localAgents(environment, {
    ...(file === undefined ? {} : { file }),
    ...(model === undefined ? {} : { model }),
  });
  const meant = chosen(start, options, agents);
  const quiet: Environment = { ...environment, logLevel: 'error' };
  const local = await createLocalWorker({
    environment: quiet,
    taskQueue: environment.taskQueue,
    agents,
    reach: () => reachTemporal(environment),
  });
  try {
    const client = await clientOf(local.server, environment);
    try {
      await startAndWatch(context, client, local, meant, options);
    } finally {
      await client.close();
    }
  } finally {
    await local.dispose();
  }
}

/** SIGINT and SIGTERM end the worker, by the SDK's own handlers; the run itself goes on wherever another worker is. */
async function startAndWatch(
  context: CommandContext,
  client: AgentClient,
  { worker, server }: LocalWorker & { readonly server: TemporalServer },
  start: StartOptions,
  options: Options,
): Promise<void> {
  const leave = new AbortController();
  const working = worker.run().finally(() => {
    leave.abort();
  });
  try {
    const handle = await client.start(start);
    const web = server.uiUrl === undefined ? '' : `, Web UI ${server.uiUrl}`;
    context.output.note(`run ${handle.runId} at ${server.address}${web}`);
    await watchRun(context, handle, options, leave.signal);
    if (leave.signal.aborted) {
      context.output.note(
        `Interrupted. The run is not lost: holdfast worker takes it on, holdfast watch ${handle.runId} shows it, holdfast cancel ${handle.runId} ends it.`,
      );
      context.exitWith(exitCodes.interrupted);
    }
  } finally {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await working;
  }
}
