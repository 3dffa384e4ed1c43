/** Example: tests of an agent, as jest runs them. With vitest, import `afterAll`, `beforeAll`, `expect` and `test` from it. */
import type { TestAgent } from '../testing/index';
import { fault, person, reply, testAgent } from '../testing/index';
import { supportAgent } from './customer-context';

let agent: TestAgent<typeof supportAgent>;
beforeAll(async () => {
  agent = await testAgent(supportAgent);
}, 60_000);
afterAll(() => agent.close());

const request = { goal: 'Refund A-17.', context: { customerId: 'C-1', plan: 'basic' } } as const;
const refund = reply.toolCalls([{ name: 'refund_order', input: { order: 'A-17' } }]);

test('refunds an order after an approval', async () => {
  const script = [refund, person.approve(), reply.text('A-17 is refunded.')];
  const { result, prompts } = await agent.run(request, script);
  expect(result).toMatchObject({ status: 'completed', answer: 'A-17 is refunded.' });
  expect(prompts).toMatchObject([
    { tools: ['refund_order'], messages: [{ role: 'user', text: 'Refund A-17.' }] },
    { messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool', isError: false }] },
  ]);
});

test('tells the model that there is no such order, and not whose it is', async () => {
  const { prompts } = await agent.run(request, [
    reply.toolCalls([{ name: 'refund_order', input: { order: 'B-5' } }]),
    person.approve(),
    reply.text('There is no order B-5.'),
  ]);
  expect(prompts[1]?.note).toContain('There is no order "B-5".');
  expect(JSON.stringify(prompts)).not.toContain('C-2');
});

test('refunds once when a provider, and then a worker, fails', async () => {
  const { result } = await agent.run(request, [
    fault.http(429),
    fault.cutStream(),
    refund,
    person.approve(),
    fault.tool('refund_order', 'crash-after-effect'),
    reply.text('A-17 is refunded.'),
  ]);
  expect(result.report.healed).toEqual({ rate_limit: 1, network: 1 });
});
