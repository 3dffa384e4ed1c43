/** Subagents as their authors write them: what could not work is refused at once. */
import type { AgentDefinition } from '../../activities/definitions/agent';
import { createAgentCatalog } from '../../activities/definitions/agent-catalog';
import { createActivities } from '../../activities/index';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import type { SubagentDefinition } from '../../activities/subagents/define-subagent';
import { defineSubagent } from '../../activities/subagents/define-subagent';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;

beforeAll(async () => {
  stored = await temporaryStore();
});

afterAll(() => stored.dispose());

const definition: SubagentDefinition = {
  name: 'research',
  description: 'Finds something out.',
  agent: 'researcher',
};

const providers = [
  anthropicProvider({ apiKey: 'k' }),
  openaiProvider({ name: 'chat', api: 'chat', apiKey: 'k', baseUrl: 'http://127.0.0.1:9/v1' }),
];
const lead: AgentDefinition = {
  name: 'lead',
  instructions: 'Lead.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
  tools: [defineSubagent(definition)],
};
const researcher: AgentDefinition = { ...lead, name: 'researcher', tools: [] };

test('a definition becomes a tool whose input is the task, and a policy for the core', () => {
  const tool = defineSubagent({ ...definition, share: 0.25, budget: { usd: 0.1, tokens: 5_000 } });
  expect(tool.subagent).toEqual({
    agent: 'researcher',
    share: 0.25,
    budget: { nanoUsd: 100_000_000, tokens: 5_000 },
  });
  expect(tool.inputSchema).toMatchObject({ required: ['task'] });
  const catalog = createAgentCatalog([lead, researcher], providers);
  expect(catalog.agents.get('lead')?.policies[0]).toMatchObject({
    name: 'research',
    subagent: { agent: 'researcher' },
  });
});

test.each<[Partial<SubagentDefinition>, string]>([
  [{ share: 0 }, 'Subagent "research": share is 0; give a number above 0 and at most 1.'],
  [{ share: 1.5 }, 'share is 1.5'],
  [{ budget: { usd: -1 } }, 'Subagent "research": budget.usd'],
  [{ description: ' ' }, 'has no description'],
])('%j is refused', (changes, words) => {
  expect(() => defineSubagent({ ...definition, ...changes })).toThrow(words);
});

test('an agent that the worker lacks is refused, with the names that there are', () => {
  const { store } = stored;
  expect(() => createActivities({ store, agents: [lead], providers })).toThrow(
    'Agent "lead", subagent "research": no agent is called "researcher"; this worker has lead.',
  );
});

test('a budget in money needs the prices of the whole tree', () => {
  const unpriced: AgentDefinition = {
    ...researcher,
    chain: [{ provider: 'chat', model: 'home-made', windowTokens: 8_000 }],
  };
  const agents = [{ ...lead, budget: { usd: 1 } }, unpriced];
  const { store } = stored;
  expect(() => createActivities({ store, agents, providers })).toThrow(
    'Agent "lead" with its subagents and handoffs: a budget in US dollars (budget.usd is 1) needs the price of every model, and that of chat/home-made is not known.',
  );
  const prices = { 'chat/home': { input: 0, output: 0 } };
  createActivities({ store, agents, providers, prices });
  const priced = createAgentCatalog(agents, providers, prices);
  expect(priced.agents.get('researcher')?.chain[0]?.price).toMatchObject({ input: 0, output: 0 });
});
