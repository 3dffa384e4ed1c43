/** The testing kit under vitest, as an ES module of another project sees the built package. */
import { defineAgent, defineTool } from 'holdfast';
import { fault, person, reply, testAgent } from 'holdfast/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund_order',
  description: 'Refunds an order.',
  input: z.object({ order: z.string() }),
  effect: 'keyed',
  approval: 'always',
  execute: ({ order }) => `Refunded ${order}.`,
});
const support = defineAgent({
  name: 'support',
  instructions: 'You support customers.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  tools: [refund],
});

let agent;
beforeAll(async () => {
  agent = await testAgent(support);
}, 600_000);
afterAll(() => agent.close());

test('an agent, its script, its run, and what the model was told', async () => {
  const { result, prompts } = await agent.run({ goal: 'Refund A-17.' }, [
    fault.http(429),
    reply.toolCalls([{ name: 'refund_order', input: { order: 'A-17' } }]),
    person.approve(),
    reply.text('A-17 is refunded.'),
  ]);
  expect(result).toMatchObject({ status: 'completed', answer: 'A-17 is refunded.' });
  expect(prompts.at(-1)).toMatchObject({
    tools: ['refund_order'],
    messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool', name: 'refund_order' }],
  });
});

test('a request without a step is told in words', async () => {
  const running = agent.run({ goal: 'Hello.' }, () => undefined);
  await expect(running).rejects.toThrow('came with the text "Hello."');
});
