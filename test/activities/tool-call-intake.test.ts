/** Arguments with a secret stay out of history. Arguments that are JSON, but that nothing behind can carry, are the model's mistake and never the run's end. */
import { z } from 'zod';
import { createAgentCatalog } from '../../activities/definitions/agent-catalog';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import type { ReplyArrival } from '../../activities/model-call/reply-intake';
import { takeReply } from '../../activities/model-call/reply-intake';
import type { ModelReply } from '../../activities/providers/provider';
import type { TakenCall } from '../../activities/model-call/tool-call-intake';
import { takeToolCalls } from '../../activities/model-call/tool-call-intake';
import type { ToolsOfRun } from '../../activities/tool-call/tool-of-run';
import { defineTool } from '../../activities/tools/define-tool';
import { noUsage } from '../../workflows/core/budget/spend';
import type { CallModelResult } from '../../workflows/core/model-call/ports';
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
  return { agent, config: agent, runId: 'run' };
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
      hasForm: false,
      maxOutputTokens: 1_024,
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

describe('a call in the text of a reply', () => {
  const call = '{"name": "send", "arguments": {"body": "hello"}}';
  const taught = '```json\n{"tool_name": "send", "arguments": {"body": "hello"}}\n```';
  const sample = '```json\n{"port": 3000}\n```';

  async function take(
    text: string,
    arrival: Partial<ReplyArrival> = {},
    more: Partial<ModelReply> = {},
  ): Promise<CallModelResult> {
    const stored = await temporaryStore();
    const headBefore = await stored.store.appendNode(undefined, [
      { role: 'user', blocks: [{ type: 'text', text: 'Go' }] },
    ]);
    const block = { type: 'text', text } as const;
    const reply = { model: 'm', blocks: [block], toolCalls: [], usage: noUsage, ...more };
    return takeReply(
      stored.store,
      worker(),
      { idPrefix: 'run', iteration: 1 },
      {
        reply: { stopReason: 'end', ...reply },
        headBefore,
        vendor: 'v',
        isTextProtocol: false,
        requireCall: false,
        hasForm: false,
        maxOutputTokens: 1_024,
        ...arrival,
      },
    ).finally(() => stored.dispose());
  }

  test.each<readonly [string, Partial<ReplyArrival>, Partial<ModelReply>, string]>([
    ['an agent that ends by text', {}, {}, 'If it was meant as the answer'],
    ['an agent that ends by a tool', { requireCall: true }, {}, 'Call tools natively'],
    ['a server that says it called', {}, { stopReason: 'tool-use' }, 'Call tools natively'],
  ])('is a mistake with native calls: %s', async (_what, arrival, more, hint) => {
    const taken = await take(`I will send it.\n${call}`, arrival, more);
    expect(taken).toMatchObject({
      toolCalls: [],
      wroteCall: true,
      error: {
        code: 'no_tool_call',
        message: 'The reply holds a call of send as text, which runs nothing.',
        hint: expect.stringContaining(hint) as string,
      },
    });
    expect(taken.head).toBe(taken.headBefore);
  });

  test.each<readonly [string, Partial<ReplyArrival>]>([
    ['with native calls', {}],
    ['of an agent that ends by a tool', { requireCall: true }],
    ['in the text protocol', { isTextProtocol: true }],
  ])('that is only announced is a mistake, whatever the text says: %s', async (_what, arrival) => {
    const taken = await take('Let me look.', arrival, { stopReason: 'tool-use' });
    expect(taken).toMatchObject({ toolCalls: [], error: { code: 'no_tool_call' } });
    expect(taken.head).toBe(taken.headBefore);
  });

  test('runs in the text protocol, whatever its server calls it', async () => {
    const taken = await take(taught, { isTextProtocol: true }, { stopReason: 'tool-use' });
    expect(taken.toolCalls).toMatchObject([{ name: 'send' }]);
  });

  test.each(['truncated', 'tool-use', 'end'] as const)(
    'whose arguments end at the output limit is a cut reply under %s (mattmezza/humux#77)',
    async (stopReason) => {
      const cut = { vendorId: 'x', name: 'send', argumentsText: '{"body":"half a tho' };
      const usage = { ...noUsage, outputTokens: 64 };
      const more = { toolCalls: [cut], stopReason, usage };
      const taken = await take('I send it.', { maxOutputTokens: 64 }, more);
      expect(taken).toMatchObject({
        stopReason: 'truncated',
        toolCalls: [],
        error: {
          code: 'output_truncated',
          message:
            'The reply was cut off at the output limit of 64 tokens, within the arguments of send. The call is incomplete and was not run.',
        },
      });
      expect(taken.head).toBe(taken.headBefore);
    },
  );

  test('whose arguments end before the limit is broken JSON', async () => {
    const broken = { vendorId: 'x', name: 'send', argumentsText: '{"body":"half a tho' };
    const taken = await take('', {}, { toolCalls: [broken], stopReason: 'tool-use' });
    expect(taken.toolCalls).toMatchObject([{ error: { code: 'invalid_json' } }]);
  });

  test('of a tool that does not exist is that mistake', async () => {
    const taken = await take(call.replace('send', 'mail'));
    expect(taken.error).toMatchObject({ code: 'invalid_tool' });
  });

  test('beside a native call is only words', async () => {
    const native = { vendorId: 'x', name: 'send', argumentsText: '{"body":"hi"}' };
    const taken = await take(call, {}, { toolCalls: [native], stopReason: 'tool-use' });
    expect(taken.toolCalls).toHaveLength(1);
    expect(taken.error).toBeUndefined();
  });

  test('in another form than the text protocol teaches is a mistake, for which nobody needs that protocol', async () => {
    const taken = await take(`<tool_call>${call}</tool_call>`, { isTextProtocol: true });
    expect(taken.error).toMatchObject({
      code: 'no_tool_call',
      hint: expect.stringContaining('```json block') as string,
    });
    expect(taken.wroteCall).toBeUndefined();
  });

  test.each<readonly [string, string, Partial<ReplyArrival>]>([
    ['words', 'It was sent.', {}],
    ['a sample', `For example:\n${call}`, {}],
    ['a block of data in the text protocol', `The config:\n${sample}`, { isTextProtocol: true }],
    ['two such blocks', `${sample}\n${sample}`, { isTextProtocol: true }],
  ])('is no part of an answer: %s', async (_what, text, arrival) => {
    expect(await take(text, arrival)).toMatchObject({ answer: text, toolCalls: [] });
    expect((await take(text, arrival)).error).toBeUndefined();
  });

  test('as the text protocol teaches it runs', async () => {
    const { toolCalls } = await take(taught, { isTextProtocol: true });
    expect(toolCalls).toMatchObject([{ name: 'send', input: { body: 'hello' } }]);
  });
});

describe('a run that another deploy started', () => {
  const { agent, config } = worker();
  const told = (tools: ToolsOfRun['config']['tools']): ToolsOfRun => ({
    agent,
    config: { tools },
    runId: 'run',
  });
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
