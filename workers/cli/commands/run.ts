/** `holdfast run`: starts a run, works on it in this process, and shows it until it has ended. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { AgentClient } from '../../../client/agent-client';
import { connect } from '../../../client/connect';
import type { CommandContext, CommonOptions, Surroundings } from '../command-context';
import { withClient } from '../command-context';
import { exitCodes } from '../exit-codes';
import { watchRun } from './look';
import type { StartOptions } from '../../../client/start/start-run';
import { checkStart } from '../../../client/start/start-run';
import { defined } from '../../../workflows/core/json';
import { shellWord } from '../../../workflows/core/view/shell-word';
import type { Environment } from '../../env';
import { readEnvironment } from '../../env';
import { SetupError } from '../../setup-error';
import type { Content } from '../../../workflows/core/attachments';
import { withFiles, withMediaStore } from '../attached-files';
import { builtInAgentName } from '../built-in-agent-name';
import type { WorkerOffer } from '../local-agents';
import type { LocalWorker } from '../local-worker';
import type { ReachedServer } from '../reach-temporal';
import { beginReaching, reachTemporal } from '../reach-temporal';

interface RunOptions extends CommonOptions {
  readonly workspace?: string;
  readonly agent?: string;
  readonly agents?: string;
  readonly model?: string;
  readonly unattended?: boolean;
  readonly id?: string;
  readonly continue?: string;
  readonly repeatEffects?: readonly string[];
  readonly maxIterations?: number;
  readonly budgetUsd?: number;
  readonly budgetTokens?: number;
  readonly tenant?: string;
  readonly detach?: boolean;
  readonly file?: readonly string[];
}

/** Milliseconds for calls in progress after an interrupt: a person waits for the prompt, and the run loses only the call. */
const interruptGraceMs = 2_000;

/** Starts the run. */
export async function run(
  context: CommandContext,
  goal: string,
  options: RunOptions,
): Promise<void> {
  const environment = readEnvironment(context.variables, context.directory);
  const content = await withFiles(context, goal, options.file);
  const start = startOptions(context.directory, content, options);
  checkStart(start);
  if (start.workspace !== undefined) await checkWorkspace(start.workspace);
  await (options.detach === true ? detach : workHere)(context, environment, start, options);
}

function startOptions(directory: string, goal: Content, options: RunOptions): StartOptions {
  const { workspace, id, maxIterations, tenant, budgetUsd, budgetTokens } = options;
  const budget = defined({ usd: budgetUsd, tokens: budgetTokens });
  return {
    agent: options.agent ?? builtInAgentName,
    goal,
    ...defined({
      workspace: workspace === undefined ? undefined : path.resolve(directory, workspace),
      runId: id,
      continueFrom: options.continue,
      repeatEffects: options.repeatEffects,
      limits: maxIterations === undefined ? undefined : { maxIterations },
      budget: Object.keys(budget).length === 0 ? undefined : budget,
      tenant,
    }),
  };
}

async function checkWorkspace(workspace: string): Promise<void> {
  const found = await stat(workspace).catch(() => undefined);
  if (found?.isDirectory() === true) return;
  throw new SetupError(
    `The workspace ${workspace} ${found === undefined ? 'does not exist' : 'is not a directory'}. Give an existing directory (--workspace DIR).`,
  );
}

async function detach(
  { output, directory, variables }: CommandContext,
  environment: Environment,
  start: StartOptions,
  options: RunOptions,
): Promise<void> {
  const { json, agents, agent } = options;
  // Agents take a second to load, and a detached run needs at most an agent's name.
  const isNamed = agents === undefined || agent !== undefined;
  const request = isNamed
    ? start
    : withAgent(start, options, await offerOf(environment, { agents, directory, variables }));
  const server = await reachTemporal(environment, variables);
  const { runId } = await withMediaStore({ directory, variables }, options.file, (store) =>
    withClient(
      clientOf(environment, server),
      (client) => client.start(request),
      defined({ store }),
    ),
  );
  const { address, uiUrl } = server;
  output.write(`${json === true ? JSON.stringify({ runId, address, uiUrl }) : runId}\n`);
  if (json !== true)
    output.note(
      `Started. To work on it: holdfast worker. To follow it: holdfast watch ${shellWord(runId)}`,
    );
}

function clientOf(
  { taskQueue }: Environment,
  server: ReachedServer,
): Pick<CommandContext, 'connect'> {
  return { connect: (given) => connect({ ...server, taskQueue, ...given }) };
}

/** The agents that this machine offers: loaded late, because a detached run needs none (ADR 0029). */
async function offerOf(
  environment: Environment,
  options: Pick<RunOptions, 'agents' | 'model' | 'unattended'> & Surroundings,
): Promise<WorkerOffer> {
  const { localAgents } = await import('../local-agents.ts');
  return localAgents(environment, options);
}

/** Errors: `SetupError` unless one agent of the offer is named, or is the only one. */
function withAgent(
  start: StartOptions,
  options: RunOptions,
  { agents }: WorkerOffer,
): StartOptions {
  const names = agents.map(({ name }) => name);
  const [only] = names;
  const agent =
    options.agent ?? (names.length === 1 && only !== undefined ? only : builtInAgentName);
  if (names.includes(agent)) return { ...start, agent };
  throw new SetupError(
    `${options.agent === undefined ? 'No agent is selected' : `No agent is called "${agent}"`}. Available: ${names.join(', ') || 'none'}. Choose one (--agent NAME), or pass a file that defines it (--agents FILE).`,
  );
}

async function workHere(
  context: CommandContext,
  environment: Environment,
  start: StartOptions,
  options: RunOptions,
): Promise<void> {
  const { directory, variables } = context;
  const hasModel = (options.agents ?? options.model ?? environment.models[0]) !== undefined;
  // Beside all that a worker loads; not where the usual mistake is seen already.
  const temporal = hasModel ? await beginReaching(environment, variables) : undefined;
  let request: StartOptions;
  let local: LocalWorker;
  try {
    const { createLocalWorker } = await import('../local-worker.ts');
    const offer = await offerOf(environment, { ...options, directory, variables });
    request = withAgent(start, options, offer);
    const quiet: Environment = { ...environment, logLevel: 'error' };
    const reach = () => temporal?.server ?? reachTemporal(environment, variables);
    local = await createLocalWorker(quiet, offer, reach, variables, {
      shutdownGraceMs: interruptGraceMs,
    });
  } catch (thrown) {
    await temporal?.leave();
    throw thrown;
  }
  try {
    await withClient(
      clientOf(environment, local.server),
      (client) => startAndWatch(context, client, local, request, options),
      { store: local.store },
    );
  } finally {
    await local.dispose();
  }
}

/** SIGINT and SIGTERM end the worker, by the SDK's own handlers; the run continues on any other worker. */
async function startAndWatch(
  context: CommandContext,
  client: AgentClient,
  { worker, server }: LocalWorker,
  start: StartOptions,
  options: RunOptions,
): Promise<void> {
  const leave = new AbortController();
  const working = worker.run().finally(() => {
    leave.abort();
  });
  try {
    const handle = await client.start(start);
    const web = server.uiUrl === undefined ? '' : `, Web UI ${server.uiUrl}`;
    context.output.note(`run ${handle.runId} at ${server.address}${web}`);
    const isShown = options.json === true || context.output.isTerminal;
    await watchRun(context, handle, options, leave.signal, isShown);
    if (leave.signal.aborted) {
      const agentsFile =
        options.agents === undefined ? '' : ` --agents ${shellWord(options.agents)}`;
      const runId = shellWord(handle.runId);
      context.output.note(
        `Interrupted. The run is not lost: to continue it, holdfast worker${agentsFile}; to follow it, holdfast watch ${runId}; to end it, holdfast cancel ${runId}.`,
      );
      context.exitWith(exitCodes.interrupted);
    }
  } finally {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await working;
  }
}
