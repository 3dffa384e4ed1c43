/** Case surface-01: a tool throws an HTTP client's error that contains a key; the model reads what matters, nobody reads the key. */
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { startAgentWorld, testModel } from '../support/agent-world';

const key = 'TESTKEYabcdef0123456789';
const cookie = 'TESTCOOKIE';

/** What an HTTP client of the common kind throws. */
function clientError(): Error {
  return Object.assign(new Error('Request failed with status code 500'), {
    name: 'AxiosError',
    code: 'ERR_BAD_RESPONSE',
    config: {
      method: 'post',
      url: 'https://db.internal.test/api/queries',
      headers: { Authorization: `Key ${key}`, Cookie: `session=${cookie}` },
    },
    response: { status: 500, data: { message: 'column "foo" does not exist' } },
  });
}

const runQuery = defineTool({
  name: 'run_query',
  description: 'Runs a query.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: () => {
    throw clientError();
  },
});

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld([
    {
      name: 'analyst',
      instructions: 'You query.',
      chain: [{ provider: 'anthropic', model: testModel }],
      tools: [runQuery],
    },
  ]);
});
afterAll(() => world.dispose());

test('surfaces the message and the status of a failed request, never its credentials', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'run_query', input: { query: 'select foo' } }]),
    reply.text('There is no such column.'),
  ]);
  const handle = await world.start({ agent: 'analyst', goal: 'Query.' });
  const outcome = await handle.result();
  expect(outcome).toMatchObject({ status: 'completed', report: { toolCallsFailed: 1 } });
  const seen = JSON.stringify(world.emulator.requests.at(-1)?.body);
  expect(world.emulator.requests.at(-1)?.lastUserText).toContain('column "foo" does not exist');
  expect(seen).toContain('500');
  const raw = JSON.stringify(await world.server.client.getHandle(handle.workflowId).fetchHistory());
  const history = raw.replace(/"data":"([A-Za-z0-9+/=]+)"/g, (_whole, data: string) =>
    Buffer.from(data, 'base64').toString(),
  );
  expect(history).toContain('does not exist');
  for (const text of [seen, history, JSON.stringify(outcome)]) {
    expect(text).not.toContain(key);
    expect(text).not.toContain(cookie);
  }
  world.emulator.assertDrained();
});
