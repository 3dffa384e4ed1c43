/** What the module of `--agents FILE` may export, and what is said of anything else. */
import { z } from 'zod';
import { logNotifier } from '../../activities/notifiers/log-notifier';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { defineTool } from '../../activities/tools/define-tool';
import { checkAgentsFile } from '../../workers/cli/agents-file';

const tool = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'seen',
});
const agent = {
  name: 'one',
  instructions: 'You look.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
  tools: [tool],
};

class OwnNotifier {
  readonly name = 'own';
  notify(): Promise<void> {
    return Promise.resolve();
  }
}

it('takes all that a worker is made of, as the file made it', () => {
  const own = new OwnNotifier();
  const module = {
    agents: [agent],
    providers: [anthropicProvider({ apiKey: 'key' })],
    notifiers: [logNotifier(), own],
    notifyOn: ['approval'],
    webUiUrl: 'http://localhost:8233',
    prices: { 'my-model': { input: 1, output: 2 } },
    windows: { 'my-model': 64_000 },
    approvers: ['ed25519:x'],
    somethingElse: 1,
  };
  const { somethingElse, ...counted } = module;
  const taken = checkAgentsFile('agents.cjs', module);
  expect(taken).toEqual(counted);
  expect(taken.notifiers?.[1]).toBe(own);
  expect(checkAgentsFile('agents.mjs', { default: { agents: [agent] } })).toEqual({
    agents: [agent],
  });
});

it.each<[string, object, string]>([
  ['no agents', {}, 'it exports no "agents". Write: exports.agents = [{ name'],
  ['agents that are no array', { agents: agent }, 'agents is not an array'],
  ['an empty array', { agents: [] }, 'agents is empty'],
  ['an agent without a chain', { agents: [{ ...agent, chain: [] }] }, 'agents[0].chain is empty'],
  ['an agent without instructions', { agents: [{ ...agent, instructions: 1 }] }, 'agents[0].instr'],
  ['a tool of its own kind', { agents: [{ ...agent, tools: [{ name: 'x' }] }] }, 'defineTool'],
  ['a notifier that is a URL', { agents: [agent], notifiers: ['http://x'] }, 'notifiers[0] is not'],
  ['a notifier without notify', { agents: [agent], notifiers: [{ name: 'x' }] }, 'slackNotifier'],
  ['a provider without send', { agents: [agent], providers: [{ name: 'x' }] }, 'providers[0].send'],
  ['a window in words', { agents: [agent], windows: { x: 'big' } }, 'windows.x is not a number'],
])('names what is wrong and how it is written: %s', (_what, module, message) => {
  expect(() => checkAgentsFile('agents.cjs', module)).toThrow(message);
  expect(() => checkAgentsFile('agents.cjs', module)).toThrow("The agents' file agents.cjs");
});
