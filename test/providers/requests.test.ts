/** Any transcript becomes a request that the vendor takes: by structure, and by the emulator's own strict checks. */
import { anthropicRequest } from '../../activities/providers/anthropic/request';
import { chatDialects } from '../../activities/providers/openai/chat-dialect';
import {
  chatRequest,
  foreignThoughtSignature,
} from '../../activities/providers/openai/chat-request';
import { responsesRequest } from '../../activities/providers/openai/responses-request';
import {
  blankResultText,
  missingResultText,
  repairTranscript,
  unknownThought,
} from '../../activities/providers/request/transcript-repair';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import type { AssistantMessage, Message } from '../../workflows/core/message';
import { providerOn, requestFor, sendOptions, userMessage, wires } from './support/provider-bench';
import { anyTranscript, damagedTranscript } from './support/transcripts';
import { cases, fc } from '../support/properties';

const assistant = (
  blocks: AssistantMessage['blocks'],
  vendor = 'anthropic',
  model = 'claude-opus-5-5',
): AssistantMessage => ({ role: 'assistant', vendor, model, blocks });

const call = (toolCallId: string) =>
  ({ type: 'tool-call', toolCallId, name: 'read_file', input: { path: toolCallId } }) as const;

/** A model with a fixed budget for its thoughts. */
const budgeted = {
  model: 'claude-sonnet-4-5',
  maxOutputTokens: 4_096,
  settings: { reasoning: { budgetTokens: 2_000 } },
} as const;

const results = (...ids: readonly string[]): Message => ({
  role: 'tool',
  results: ids.map((toolCallId) => ({
    type: 'tool-result',
    toolCallId,
    name: 'read_file',
    content: `content of ${toolCallId}`,
    isError: false,
  })),
});

describe('any transcript', () => {
  let emulator: VendorEmulator;
  beforeAll(async () => {
    emulator = await VendorEmulator.start();
    emulator.script(() => reply.text('ok'));
  });
  afterAll(async () => {
    await emulator.stop();
  });

  it.each(wires)('is taken by the strict vendor on the wire %s', async (wire) => {
    const provider = providerOn(emulator, wire);
    await fc.assert(
      fc.asyncProperty(
        damagedTranscript,
        fc.option(fc.string(), { nil: undefined }),
        // After a handoff, the agent that acts may not have the tools of the calls, or none at all.
        fc.constantFrom(['read_file'], ['other_tool'], []),
        async (messages, note, names) => {
          const { tools, ...rest } = requestFor(wire, { messages });
          const own = names.flatMap((name) => tools.map((tool) => ({ ...tool, name })));
          const request = { ...rest, tools: own, ...(note === undefined ? {} : { note }) };
          await provider.send(request, sendOptions());
        },
      ),
      cases(60),
    );
    expect(emulator.refusals).toEqual([]);
  });

  it('is repaired into one that needs no second repair, and whose pairs are whole', () => {
    fc.assert(
      fc.property(fc.oneof(anyTranscript, damagedTranscript), (messages) => {
        const repaired = repairTranscript(messages);
        expect(repairTranscript(repaired)).toEqual(repaired);
        repaired.forEach((message, index) => {
          if (message.role !== 'assistant') return;
          const ids = message.blocks.flatMap((each) =>
            each.type === 'tool-call' ? [each.toolCallId] : [],
          );
          const next = repaired[index + 1];
          const answered = next?.role === 'tool' ? next.results.map((each) => each.toolCallId) : [];
          expect(answered).toEqual(ids);
        });
      }),
    );
  });

  it('carries no lone surrogate and no foreign reasoning', () => {
    fc.assert(
      fc.property(anyTranscript, (messages) => {
        const bodies = [
          anthropicRequest(requestFor('anthropic', { messages }), { vendor: 'anthropic' }),
          responsesRequest(requestFor('responses', { messages }), 'openai'),
          chatRequest(requestFor('chat', { messages }), 'openai', chatDialects.openai),
        ];
        for (const body of bodies) {
          expect(JSON.stringify(body)).not.toMatch(/\\ud[89a-f][0-9a-f]{2}/);
        }
        const [onAnthropic, onResponses, onChat] = bodies.map((body) => JSON.stringify(body));
        expect(onAnthropic).not.toMatch(/encrypted_content/);
        expect(onResponses).not.toMatch(/"signature"|redacted_thinking/);
        expect(onChat).not.toMatch(/"signature"|encrypted_content|reasoning/);
      }),
    );
  });
});

describe('a request on the wire anthropic', () => {
  const messages: readonly Message[] = [
    userMessage('Go'),
    assistant([
      { type: 'reasoning', vendor: 'anthropic', text: 'hm', opaque: { signature: 's' } },
      { type: 'text', text: 'I look.' },
      call('a'),
      call('b'),
    ]),
    results('a', 'b'),
    userMessage('Hurry'),
  ];
  const build = (note?: string) =>
    anthropicRequest(
      requestFor('anthropic', { messages, ...(note === undefined ? {} : { note }) }),
      { vendor: 'anthropic' },
    );

  it('puts results first and texts after them into one user message', () => {
    const last = build().messages.at(-1);
    expect(last?.role).toBe('user');
    expect(last?.content).toMatchObject([
      { type: 'tool_result', tool_use_id: 'a' },
      { type: 'tool_result', tool_use_id: 'b' },
      { type: 'text', text: 'Hurry', cache_control: { type: 'ephemeral' } },
    ]);
  });

  it('keeps every byte before the note the same with and without it', () => {
    const without = JSON.stringify(build().messages);
    const noted = JSON.stringify(build('Mind the error.').messages);
    expect(noted.startsWith(without.slice(0, -3))).toBe(true);
    expect(noted.slice(without.length - 3)).toBe(',{"type":"text","text":"Mind the error."}]}]');
    const { messages: _one, ...head } = build();
    const { messages: _two, ...notedHead } = build('Mind the error.');
    expect(notedHead).toEqual(head);
  });

  it('has four cache breakpoints and no more', () => {
    expect(JSON.stringify(build('note')).match(/cache_control/g)).toHaveLength(4);
  });

  it.each([
    ['another model of the vendor', 'claude-haiku-5', 'anthropic', { signature: 's' }],
    ['another vendor', 'gpt-5', 'openai', { signature: 'reasoning_content' }],
    ['no seal', 'claude-opus-5-5', 'anthropic', {}],
  ])('drops reasoning of %s and leaves no empty message', (_name, model, vendor, opaque) => {
    const foreign = assistant([{ type: 'reasoning', vendor, text: 'hm', opaque }], vendor, model);
    const body = anthropicRequest(
      requestFor('anthropic', { messages: [userMessage('a'), foreign, userMessage('b')] }),
      { vendor: 'anthropic' },
    );
    expect(body.messages).toHaveLength(1);
    expect(JSON.stringify(body)).not.toContain('thinking');
  });

  it('keeps reasoning of the dated name of the same model', () => {
    const own = assistant(
      [
        { type: 'reasoning', vendor: 'anthropic', text: 'hm', opaque: { signature: 's' } },
        call('a'),
      ],
      'anthropic',
      'claude-sonnet-4-5-20250929',
    );
    const body = anthropicRequest(
      requestFor('anthropic', { messages: [userMessage('a'), own, results('a')], ...budgeted }),
      { vendor: 'anthropic' },
    );
    expect(JSON.stringify(body)).toContain('"thinking":"hm"');
    expect(body).toMatchObject({ max_tokens: 4_096, thinking: { budget_tokens: 2_000 } });
  });

  it('does without a thinking budget where the turn that goes on was made elsewhere', () => {
    const foreign = assistant([call('a')], 'openai', 'gpt-5');
    const body = anthropicRequest(
      requestFor('anthropic', { messages: [userMessage('a'), foreign, results('a')], ...budgeted }),
      { vendor: 'anthropic' },
    );
    expect(body).not.toHaveProperty('thinking');
  });
});

describe("a request on OpenAI's wires", () => {
  it('keeps encrypted reasoning before what it led to, and drops it where nothing follows', () => {
    const opaque = { id: 'rs_1', encryptedContent: 'enc', summary: [{ text: 'sum' }] };
    const reasoning = { type: 'reasoning', vendor: 'openai', text: 'sum', opaque } as const;
    const messages = [
      userMessage('a'),
      assistant([reasoning, call('a')], 'openai', 'gpt-5'),
      results('a'),
      assistant(
        [
          { type: 'text', text: 'x' },
          { ...reasoning, opaque: { ...opaque, id: 'rs_2' } },
        ],
        'openai',
      ),
      userMessage('b'),
    ];
    const body = responsesRequest(requestFor('responses', { messages }), 'openai');
    expect(body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
    expect(body.input).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', id: 'rs_1', encrypted_content: 'enc' },
      { type: 'function_call', call_id: 'a' },
      { type: 'function_call_output', call_id: 'a' },
      { role: 'assistant', content: 'x' },
      { role: 'user' },
    ]);
  });

  it('sends no reasoning of another vendor, whatever it looks like', () => {
    const opaque = { id: 'rs_1', encryptedContent: 'enc', summary: [] };
    const foreign = { type: 'reasoning', vendor: 'elsewhere', text: 'sum', opaque } as const;
    const messages = [userMessage('a'), assistant([foreign, call('a')], 'elsewhere'), results('a')];
    const body = responsesRequest(requestFor('responses', { messages }), 'openai');
    expect(JSON.stringify(body.input)).not.toContain('reasoning');
  });

  it.each([
    ['gpt-4.1', true],
    ['openai/gpt-4o-mini', true],
    ['gpt-5-chat-latest', true],
    ['gpt-5', false],
    ['o3', false],
  ])('sends a temperature to %s: %s', (model, isSent) => {
    const request = requestFor('responses', { model, settings: { temperature: 0.2 } });
    expect('temperature' in responsesRequest(request, 'openai')).toBe(isSent);
    expect('include' in responsesRequest(request, 'openai')).toBe(!isSent);
    expect('temperature' in chatRequest(request, 'openai', chatDialects.openai)).toBe(isSent);
    expect(chatRequest(request, 'x', chatDialects.compatible)).toMatchObject({ temperature: 0.2 });
  });

  it('names the output limit as the server knows it', () => {
    const request = requestFor('chat');
    expect(chatRequest(request, 'openai', chatDialects.openai)).toMatchObject({
      max_completion_tokens: 1_024,
    });
    expect(chatRequest(request, 'x', chatDialects.compatible)).toMatchObject({ max_tokens: 1_024 });
  });

  it('shortens a long id to the same short one on call and result', () => {
    const id = 'x'.repeat(64);
    const messages = [
      userMessage('a'),
      assistant([call(id), call(`${id.slice(1)}y`)]),
      results(id, `${id.slice(1)}y`),
    ];
    const sent = chatRequest(
      requestFor('chat', { messages }),
      'openai',
      chatDialects.openai,
    ).messages;
    const ids = sent.flatMap((each) =>
      each.role === 'assistant' ? (each.tool_calls ?? []).map((one) => one.id) : [],
    );
    expect(ids.every((each) => each.length <= 40)).toBe(true);
    expect(new Set(ids).size).toBe(2);
    expect(sent.flatMap((each) => (each.role === 'tool' ? [each.tool_call_id] : []))).toEqual(ids);
  });

  it('merges user messages for local templates only', () => {
    const request = requestFor('chat', {
      messages: [userMessage('a'), userMessage('b')],
      note: 'c',
    });
    const local = { turns: 'merged' } as const;
    expect(chatRequest(request, 'x', local).messages.map((each) => each.content)).toEqual([
      'You repair projects.',
      'a\n\nb\n\nc',
    ]);
    expect(chatRequest(request, 'x', chatDialects.compatible).messages).toHaveLength(4);
  });

  it('returns reasoning text to DeepSeek with every message of the model', () => {
    const dialect = chatDialects.deepseek;
    const messages = [
      userMessage('a'),
      assistant([{ type: 'reasoning', vendor: 'deepseek', text: 'hm' }, call('a')], 'deepseek'),
      results('a'),
      assistant([
        { type: 'reasoning', vendor: 'openai', text: 'secret' },
        { type: 'text', text: 'x' },
      ]),
      userMessage('b'),
    ];
    const sent = chatRequest(requestFor('chat', { messages }), 'deepseek', dialect).messages;
    expect(sent.filter((each) => each.role === 'assistant')).toMatchObject([
      { reasoning_content: 'hm' },
      { reasoning_content: unknownThought },
    ]);
  });

  it("returns Gemini's signatures to their calls and marks foreign calls", () => {
    const dialect = chatDialects.gemini;
    const content = { google: { thought_signature: 'own' } };
    const opaque = { toolCallExtras: [{ index: 0, content }] };
    const messages = [
      userMessage('a'),
      assistant(
        [{ type: 'reasoning', vendor: 'gemini', text: '', opaque }, call('a'), call('b')],
        'gemini',
      ),
      results('a', 'b'),
      assistant([call('c')]),
      results('c'),
    ];
    const sent = chatRequest(requestFor('chat', { messages }), 'gemini', dialect).messages;
    expect(
      sent.flatMap((each) => (each.role === 'assistant' ? (each.tool_calls ?? []) : [])),
    ).toMatchObject([
      { extra_content: content },
      { function: { name: 'read_file' } },
      { extra_content: { google: { thought_signature: foreignThoughtSignature } } },
    ]);
  });
});

describe('the repair of a transcript', () => {
  it('says that no result was recorded, and claims nothing', () => {
    const repaired = repairTranscript([
      userMessage('a'),
      assistant([call('a'), call('b')]),
      results('b'),
    ]);
    expect(repaired[2]).toMatchObject({
      results: [
        { toolCallId: 'a', content: missingResultText, isError: true },
        { toolCallId: 'b', content: 'content of b', isError: false },
      ],
    });
  });

  it('gives calls that share an id ids of their own, each with its own result', () => {
    const repaired = repairTranscript([
      userMessage('a'),
      assistant([call('a')]),
      results('a'),
      assistant([call('a')]),
      results('a'),
    ]);
    const ids = repaired.flatMap((each) =>
      each.role === 'tool' ? each.results.map((one) => one.toolCallId) : [],
    );
    expect(new Set(ids).size).toBe(2);
    expect(JSON.stringify(repaired)).not.toContain(missingResultText);
  });

  it('never sends a blank result', () => {
    const blank: Message = {
      role: 'tool',
      results: [
        { type: 'tool-result', toolCallId: 'a', name: 'x', content: ' \n', isError: false },
      ],
    };
    expect(repairTranscript([userMessage('a'), assistant([call('a')]), blank])[2]).toMatchObject({
      results: [{ content: blankResultText }],
    });
  });
});
