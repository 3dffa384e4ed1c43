/** The agents that this machine's worker offers: a file's, or the built-in one on the models that the environment names. */
import path from 'node:path';
import type { AgentDefinition } from '../../activities/definitions/agent';
import type { ActivitiesConfig } from '../../activities/index';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import { presetNames, presetProvider } from '../../activities/providers/presets';
import type { Provider } from '../../activities/providers/provider';
import { workspaceTools } from '../../activities/tools/workspace/workspace-tools';
import type { Environment } from '../env';
import { modelsSchema } from '../env';
import { SetupError } from '../setup-error';
import { builtInAgentName } from './built-in-agent-name';
import type { AgentsFile } from './agents-file';
import { loadAgentsFile } from './agents-file';
import type { Surroundings } from './command-context';

const instructions = `You work on the files of one project with the tools that you have.
Look before you change something, change as little as the task needs, and check your work by running the project's own
tests or programs where there are any. Say at the end what you did and what you could not do.`;

/** What a worker consists of, except its store. */
export type WorkerOffer = AgentsFile & Pick<ActivitiesConfig, 'providers'>;

/**
 * Loads the file's agents, else makes the built-in one.
 *
 * Errors: `SetupError` for a file that cannot be used, and where no model is named.
 */
export async function localAgents(
  environment: Environment,
  {
    agents: file,
    model,
    unattended = false,
    directory,
    variables,
  }: Surroundings & {
    readonly agents?: string;
    readonly model?: string;
    readonly unattended?: boolean;
  },
): Promise<WorkerOffer> {
  if (file !== undefined) {
    if (model !== undefined || unattended)
      throw new SetupError(
        `${unattended ? '--unattended' : '--model'} is for the built-in agent; the agents of --agents FILE name their models and approvals themselves. Give one of the two.`,
      );
    if (environment.sandbox !== false)
      throw new SetupError(
        'HOLDFAST_SANDBOX is for the built-in agent; the agents of --agents FILE choose it themselves, with workspaceTools({ commands: { sandbox: true } }). Unset it, or leave out --agents.',
      );
    const offer = await loadAgentsFile(path.resolve(directory, file), variables);
    return { ...offer, providers: offer.providers ?? providersOf(environment, offer.agents) };
  }
  const chain = chainFrom(environment, model);
  const agent: AgentDefinition = {
    name: builtInAgentName,
    instructions,
    chain,
    tools: workspaceTools({ asksFirst: !unattended, commands: { sandbox: environment.sandbox } }),
    // Unattended, nothing waits that a program could decide; signed, no program can decide.
    ...(unattended || environment.approvers !== undefined ? {} : { programs: 'ask' }),
  };
  return { agents: [agent], providers: providersOf(environment, [agent]) };
}

function chainFrom({ models }: Environment, flag: string | undefined): AgentDefinition['chain'] {
  const [first, ...rest] = flag === undefined ? models : modelsOf(flag);
  if (first !== undefined) return [first, ...rest];
  throw new SetupError(
    'No model is named. Give --model provider/model or set HOLDFAST_MODEL, such as anthropic/claude-sonnet-4-5 with ANTHROPIC_API_KEY, or ollama/qwen3 for a local one.',
  );
}

function modelsOf(flag: string): Environment['models'] {
  const parsed = modelsSchema.safeParse(flag);
  if (parsed.success) return parsed.data;
  throw new SetupError(
    `--model ${JSON.stringify(flag)} is not usable: give provider/model, such as anthropic/claude-sonnet-4-5.`,
  );
}

/** The providers that the agents' chains name, with the environment's accounts. */
function providersOf(
  environment: Environment,
  agents: readonly AgentDefinition[],
): readonly Provider[] {
  const names = new Set(agents.flatMap(({ chain }) => chain.map(({ provider }) => provider)));
  return [...names].map((name) => {
    const provider = providerOf(environment, name);
    const problem = provider.problem();
    if (problem === undefined) return provider;
    const variable = name === 'anthropic' ? 'ANTHROPIC_API_KEY' : 'OPENAI_API_KEY';
    throw new SetupError(`${problem} For the command line that variable is ${variable}.`);
  });
}

function providerOf({ anthropic, openai }: Environment, name: string): Provider {
  if (name === 'anthropic') return anthropicProvider(anthropic);
  if (name === 'openai') return openaiProvider({ api: 'responses', ...openai });
  const preset = presetNames.find((known) => known === name);
  if (preset !== undefined) return presetProvider(preset, openai);
  throw new SetupError(
    `No provider is called "${name}". Known: anthropic, openai, ${presetNames.join(', ')}. A server of your own that speaks OpenAI's protocol is reached as openai with OPENAI_BASE_URL.`,
  );
}
