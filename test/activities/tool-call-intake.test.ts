/** Arguments with a secret stay out of history. Arguments that are JSON, but that nothing behind can carry, are the model's mistake and never the run's end. */
import { z } from 'zod';
import { createAgentCatalog } from '../../activities/definitions/agent-catalog';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { takeReply } from '../../activities/model-call/reply-intake';
import type { TakenCall } from '../../activities/model-call/tool-call-intake';
import { takeToolCalls } from '../../activities/model-call/tool-call-intake';
import type { ToolsOfRun } from '../../activities/tool-call/tool-of-run';
import { defineTool } from '../../activities/tools/define-tool';
import { noUsage } from '../../workflows/core/budget/spend';
import { temporaryStore } from '../support/temporary-store';

/** An agent that has `send`. */
function worker(): ToolsOfRun {
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    input: z.object({ body: z.string() }),
    execute: () => 'sent',
  });
  const catalog = createAgentCatalog(
    [
      {
        name: 'worker',
        instructions: 'You work.',
        completion: 'tool',
        chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
        tools: [send],
      },
    ],
    [anthropicProvider({ apiKey: 'test-key' })],
  );
  const agent = catalog.agents.get('worker');
  if (agent === undefined) throw new Error('the agent is in its catalog');
  return { agent, config: agent };
}

/** Takes one call of the agent. */
async function takeOne(
  name: string,
  argumentsText: string,
  definition = worker(),
): Promise<TakenCall | undefined> {
  const stored = await temporaryStore();
  const calls = [{ vendorId: 'x', name, argumentsText }];
  const [taken] = await takeToolCalls(stored.store, definition, calls, {
    idPrefix: 'run',
    iteration: 1,
  }).finally(() => stored.dispose());
  return taken;
}

const key = 'ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9';

test('input with a secret travels by reference, so that the tool gets it and history does not', async () => {
  const plain = await takeOne('send', '{"body":"hello"}');
  expect(plain?.proposed).toMatchObject({ input: { body: 'hello' } });
  const secret = await takeOne('send', JSON.stringify({ body: `the key is ${key}` }));
  expect(JSON.stringify(secret?.proposed)).not.toContain(key);
  expect(secret?.proposed.inputBlob).toBeDefined();
  expect(secret?.block.input).toEqual({ body: `the key is ${key}` });
});

test('what the model asks a person is shown without secrets and hidden characters', async () => {
  const asked = await takeOne('ask_user', JSON.stringify({ question: `Is ${key} right\u202e?` }));
  expect(asked?.proposed.input).toEqual({ question: 'Is [redacted] right?' });
});

test.each([
  ['a number that is too large', '{"amount": 1e999}'],
  ['nesting that is too deep', `{"amount": ${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
  ['nesting that only a message makes too deep', `{"a": ${'['.repeat(508)}${']'.repeat(508)}}`],
  ['a property called toJSON', '{"amount": {"toJSON": 1}}'],
])('%s is told to the model', async (_what, argumentsText) => {
  const taken = await takeOne('pay', argumentsText);
  expect(taken?.proposed.error).toMatchObject({ code: 'invalid_json' });
  expect(taken?.block.input).toEqual({});
});

test.each(['', '{}', 'null'])(
  'arguments %j are those of a call without input',
  async (argumentsText) => {
    const taken = await takeOne('send', argumentsText);
    expect(taken?.proposed.error).toMatchObject({ code: 'invalid_params' });
    expect(taken?.block.input).toEqual({});
  },
);

test('a call that the vendor could not read is told to the model, and the words beside it are no answer', async () => {
  const stored = await temporaryStore();
  const headBefore = await stored.store.appendNode(undefined, [
    { role: 'user', blocks: [{ type: 'text', text: 'Go' }] },
  ]);
  const message = 'The provider could not read the tool call of your reply.';
  const taken = await takeReply(
    stored.store,
    worker(),
    { idPrefix: 'run', iteration: 1 },
    {
      reply: {
        model: 'm',
        blocks: [{ type: 'text', text: 'I will send it now.' }],
        toolCalls: [{ vendorId: 'x', name: 'send', argumentsText: '{"body":"half"}' }],
        stopReason: 'end',
        usage: noUsage,
        mistake: { code: 'invalid_json', message },
      },
      headBefore,
      vendor: 'gemini',
      isTextProtocol: false,
      requireCall: false,
    },
  );
  expect(taken).toMatchObject({
    head: headBefore,
    stopReason: 'tool-use',
    toolCalls: [],
    error: { code: 'invalid_json', message, recoverable: true },
  });
  await stored.dispose();
});

describe('a run that another deploy started', () => {
  const { agent, config } = worker();
  const told = (tools: ToolsOfRun['config']['tools']): ToolsOfRun => ({ agent, config: { tools } });
  const spec = { name: 'recon', description: 'Looks.', inputSchema: { type: 'object' } };

  test('has no tool that only this worker has', async () => {
    const taken = await takeOne('send', '{"body":"hello"}', told([spec]));
    expect(taken?.proposed.error).toMatchObject({ code: 'invalid_tool' });
  });

  test('leaves a call of a tool that this worker lacks to another, and blames nobody else', async () => {
    const taking = takeOne('recon', '{}', told([...config.tools, spec]));
    await expect(taking).rejects.toMatchObject({
      failure: {
        code: 'worker_mismatch',
        message: expect.stringMatching(
          /^Worker \d+@\S+ lacks the tool "recon" of agent "worker", .*Deploy a worker that has it/,
        ) as string,
      },
    });
  });

  test('hears that a schema which it was told is out of date, with what is wrong by the one that counts', async () => {
    const old = config.tools.map((tool) => ({ ...tool, inputSchema: { type: 'object' } }));
    const taken = await takeOne('send', '{"text":"hello"}', told(old));
    expect(taken?.proposed.error).toMatchObject({
      code: 'invalid_params',
      message: expect.stringContaining('body') as string,
      hint: expect.stringContaining('out of date') as string,
    });
    const current = await takeOne('send', '{"text":"hello"}');
    expect(current?.proposed.error?.hint).not.toContain('out of date');
  });
});
