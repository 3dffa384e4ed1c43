/** Arguments that are JSON, but that nothing behind can carry, are the model's mistake and never the run's end. */
import { createAgentCatalog } from '../../activities/agent-catalog';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { takeToolCalls } from '../../activities/tool-call-intake';
import { temporaryStore } from '../support/temporary-store';

test.each([
  ['a number that is too large', '{"amount": 1e999}'],
  ['nesting that is too deep', `{"amount": ${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
  ['nesting that only a message makes too deep', `{"a": ${'['.repeat(508)}${']'.repeat(508)}}`],
  ['a property called toJSON', '{"amount": {"toJSON": 1}}'],
])('%s is told to the model', async (_what, argumentsText) => {
  const stored = await temporaryStore();
  const catalog = createAgentCatalog(
    [
      {
        name: 'worker',
        instructions: 'You work.',
        chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
        tools: [],
      },
    ],
    [anthropicProvider({ apiKey: 'test-key' })],
  );
  const agent = catalog.agent('worker');
  if (agent === undefined) throw new Error('the agent is in its catalog');
  const calls = [{ vendorId: 'x', name: 'pay', argumentsText }];
  const [taken] = await takeToolCalls(stored.store, agent, calls, {
    idPrefix: 'run',
    iteration: 1,
  });
  expect(taken?.proposed.error).toMatchObject({ code: 'invalid_json' });
  expect(taken?.block.input).toEqual({});
  await stored.dispose();
});
