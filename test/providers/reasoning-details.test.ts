/** OpenRouter's reasoning details: gathered from a stream, and given back only where they belong. */
import { presetProvider } from '../../activities/providers/presets';
import type { ModelReply, ModelRequest, Provider } from '../../activities/providers/provider';
import { VendorEmulator } from '../../testing/emulator/emulator';
import type { FaultStep } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import type { AssistantMessage, Message } from '../../workflows/core/message';
import { rawStream, requestFor, sendOptions, testKey, userMessage } from './support/provider-bench';

const claude = 'anthropic/claude-opus-5-5';
const gemini = 'google/gemini-3.1-pro';

let emulator: VendorEmulator;
let provider: Provider;
beforeEach(async () => {
  emulator = await VendorEmulator.start();
  const baseUrl = emulator.baseUrl('chat', 'openrouter');
  provider = presetProvider('openrouter', { apiKey: testKey, baseUrl });
});
afterEach(async () => {
  await emulator.stop();
});

function streamed(...deltas: readonly object[]): FaultStep {
  const chunks = deltas.map((delta, index) => ({
    id: 'c',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: index === deltas.length - 1 ? 'stop' : null }],
  }));
  return rawStream(...chunks);
}

const send = (overrides: Partial<ModelRequest>): Promise<ModelReply> =>
  provider.send(requestFor('chat', overrides), sendOptions());

function detailsIn(got: ModelReply): unknown {
  const [block] = got.blocks;
  return block?.type === 'reasoning' ? block.opaque?.['reasoningDetails'] : undefined;
}

/** The reply as the transcript keeps it, its call under an id of ours and with its result. */
function kept(got: ModelReply, toolCallId = 'ours_1_0'): readonly Message[] {
  const calls = got.toolCalls.map(
    ({ name }) => ({ type: 'tool-call', toolCallId, name, input: { path: 'a' } }) as const,
  );
  const assistant: AssistantMessage = {
    role: 'assistant',
    vendor: 'openrouter',
    model: got.model,
    blocks: [...got.blocks, ...calls],
  };
  const results = calls.map(
    ({ name }) =>
      ({ type: 'tool-result', toolCallId, name, content: 'text', isError: false }) as const,
  );
  return [assistant, { role: 'tool', results }];
}

const thoughtfulCall = reply.toolCalls([{ name: 'read_file', input: { path: 'a' } }], {
  reasoning: 'I look first.',
});

function sentDetails(): unknown {
  const body = emulator.requests.at(-1)?.body as {
    messages: readonly { reasoning_details?: unknown }[];
  };
  return body.messages.find((message) => message.reasoning_details !== undefined)
    ?.reasoning_details;
}

describe('a streamed reply', () => {
  it('joins the pieces of one thought, and keeps thoughts and sealed content apart', async () => {
    const text = (piece: string, rest: object = {}): object => ({
      reasoning_details: [{ type: 'reasoning.text', text: piece, index: 0, ...rest }],
    });
    emulator.script([
      streamed(
        text('I ', { format: 'anthropic-claude-v1', signature: null }),
        text('look.'),
        { reasoning_details: [{ type: 'reasoning.text', signature: 's1', index: 0 }] },
        text('And again.'),
        { reasoning_details: [{ type: 'reasoning.encrypted', data: 'd1', index: 1 }] },
        { reasoning_details: [{ type: 'reasoning.encrypted', data: 'd2', index: 1 }] },
        { content: 'hi' },
      ),
    ]);
    expect(detailsIn(await send({ model: claude }))).toEqual([
      {
        type: 'reasoning.text',
        text: 'I look.',
        index: 0,
        format: 'anthropic-claude-v1',
        signature: 's1',
      },
      { type: 'reasoning.text', text: 'And again.', index: 0 },
      { type: 'reasoning.encrypted', data: 'd1', index: 1 },
      { type: 'reasoning.encrypted', data: 'd2', index: 1 },
    ]);
  });

  it('of another server keeps none', async () => {
    emulator.script([streamed({ content: 'hi' })]);
    expect((await send({ model: claude })).blocks).toEqual([{ type: 'text', text: 'hi' }]);
  });
});

describe('details', () => {
  it.each([claude, gemini])('go back to %s, which takes them', async (model) => {
    emulator.script([thoughtfulCall, reply.text('done')]);
    const messages = [userMessage('Go')];
    const got = await send({ model, messages });
    await send({ model, messages: [...messages, ...kept(got)] });
    expect(emulator.refusals).toEqual([]);
    expect(sentDetails()).toEqual(expect.arrayContaining([expect.anything()]));
  });

  it('of a call name it by the id that the request has for it', async () => {
    emulator.script([thoughtfulCall, reply.text('done')]);
    const messages = [userMessage('Go')];
    const got = await send({ model: gemini, messages });
    await send({ model: gemini, messages: [...messages, ...kept(got, 'ours_9_0')] });
    const [call] =
      emulator.requests.at(-1)?.conversation.turns.flatMap(({ toolCalls }) => toolCalls) ?? [];
    expect(call?.id).toMatch(/^\w{9}$/);
    expect(sentDetails()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'reasoning.encrypted', id: call?.id }),
      ]),
    );
  });

  it.each<readonly [string, Partial<ModelRequest>, Partial<ModelRequest>]>([
    ['to another model', {}, { model: gemini }],
    ['behind another prompt', {}, { system: 'You are another.' }],
    ['behind other tools', {}, { tools: [] }],
    ['of a reply to a note that no later request has', { note: 'Careful.' }, {}],
  ])('of Claude do not go back %s', async (_name, before, after) => {
    emulator.script([thoughtfulCall, reply.text('done')]);
    const messages = [userMessage('Go')];
    const got = await send({ model: claude, messages, ...before });
    await send({ model: claude, messages: [...messages, ...kept(got)], ...after });
    expect(emulator.refusals).toEqual([]);
    expect(sentDetails()).toBeUndefined();
  });

  it('go to no other server', async () => {
    emulator.script([thoughtfulCall, reply.text('done')]);
    const messages = [userMessage('Go')];
    const got = await send({ model: claude, messages });
    const other = presetProvider('vllm', { baseUrl: emulator.baseUrl('chat', 'openrouter') });
    const request = requestFor('chat', { model: claude, messages: [...messages, ...kept(got)] });
    await other.send(request, sendOptions());
    expect(sentDetails()).toBeUndefined();
  });
});
