/** Tool calls as text: what is taught, what goes on the wire, and how strictly a reply is read. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  answerEndsRun,
  parseTextProtocolReply,
  renderTextProtocolRequest,
} from '../../activities/providers/request/text-tool-protocol';
import { z } from 'zod';
import { inputSignature } from '../../activities/providers/request/input-signature';
import { inputSchemaFromZod } from '../../activities/tools/input-schema';
import type {
  AssistantMessage,
  Message,
  ToolMessage,
  ToolResultBlock,
} from '../../workflows/core/message';
import { toToolResponse } from '../../workflows/core/errors/tool-response';
import { noteProvenance } from '../../workflows/core/model-call/next-request';
import type { AgentErrorCode } from '../../workflows/core/failure';
import { agentError } from '../../workflows/core/failure';
import type { JsonObject } from '../../workflows/core/json';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import { providerOn, requestFor, sendOptions, wires } from './support/provider-bench';
import { damagedTranscript } from './support/transcripts';
import { cases, fc } from '../support/properties';

interface Mistake {
  readonly id: string;
  readonly category: string;
  readonly template: string;
  readonly raw?: { readonly content?: string };
}

const mistakes = readFileSync(
  join(__dirname, '..', 'fixtures', 'cases', 'real-model-mistakes.jsonl'),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Mistake);

const inText = mistakes.filter(
  ({ template, raw }) => template !== 'fence' && typeof raw?.content === 'string',
);

/** What each real reply is in this protocol: none of these models was taught it, so none of them calls a tool. */
const expected: Readonly<Record<string, string>> = {
  rm01: 'missing_tool_name',
  rm07: 'invalid_json',
  rm08: 'missing_tool_name',
  rm14: 'invalid_json',
  rm24: 'missing_tool_name',
};

const tools = ['a', 'read_file'];
const block = (json: string): string => `\`\`\`json\n${json}\n\`\`\``;

describe('a reply in the text protocol', () => {
  it.each(inText)('of a real model is a mistake, never a guess: $id ($category)', ({ id, raw }) => {
    const result = parseTextProtocolReply(raw?.content ?? '', { requireCall: true, tools });
    expect(result).toMatchObject({ type: 'mistake', code: expected[id] ?? 'no_tool_call' });
  });

  it('with several calls is a mistake, also where its words only advise', () => {
    const call = block('{"tool_name":"a","arguments":{}}');
    const text = `You can use the following calls, for example:\n\n${call}\n\nThen:\n\n${call}\n`;
    const result = parseTextProtocolReply(text, { requireCall: false, tools });
    expect(result).toMatchObject({ type: 'mistake', code: 'invalid_json' });
    expect(result).toMatchObject({ message: expect.stringContaining('2 JSON blocks') as string });
  });

  it.each<readonly [string, string, string]>([
    ['no block', 'I am done.', 'no_tool_call'],
    ['bare JSON', '{"tool_name":"a","arguments":{}}', 'no_tool_call'],
    ['another fence', '```js\n{"tool_name":"a"}\n```', 'no_tool_call'],
    ['doubled braces', block('{{"tool_name":"a","arguments":{}}}'), 'invalid_json'],
    [
      'a block cut off',
      '```json\n{"tool_name":"write_file","arguments":{"content":"The sea',
      'invalid_json',
    ],
    ['two blocks', `${block('{"tool_name":"a"}')}\n${block('{"tool_name":"b"}')}`, 'invalid_json'],
    ['a list', block('[{"tool_name":"a"}]'), 'invalid_json'],
    ['arguments as text', block('{"tool_name":"a","arguments":"{}"}'), 'invalid_json'],
    ['an empty name', block('{"tool_name":" ","arguments":{}}'), 'missing_tool_name'],
    ['another key', block('{"name":"a","arguments":{}}'), 'missing_tool_name'],
  ])('with %s is a mistake', (_name, text, code) => {
    expect(parseTextProtocolReply(text, { requireCall: true, tools })).toMatchObject({
      type: 'mistake',
      code,
    });
  });

  it('holds a call, its arguments and what was said', () => {
    const text = `I look first.\n\n${block('{\n  "tool_name": "read_file",\n  "arguments": {"path": "a ``` b"}\n}')}\n`;
    expect(parseTextProtocolReply(text, { requireCall: true, tools })).toEqual({
      type: 'call',
      name: 'read_file',
      argumentsText: '{"path":"a ``` b"}',
      said: 'I look first.',
    });
  });

  it.each(['arguments', 'inputs', 'input', 'parameters', 'params', 'args'])(
    'may name its input "%s", as transcripts and models do',
    (key) => {
      const text = block(JSON.stringify({ tool_name: 'read_file', [key]: { path: 'a' } }));
      expect(parseTextProtocolReply(text, { requireCall: true, tools })).toEqual({
        type: 'call',
        name: 'read_file',
        argumentsText: '{"path":"a"}',
        said: '',
      });
    },
  );

  it('with two inputs is a mistake: nobody guesses which one counts', () => {
    const text = block('{"tool_name":"a","arguments":{"x":1},"inputs":{"x":2}}');
    expect(parseTextProtocolReply(text, { requireCall: true, tools })).toMatchObject({
      code: 'invalid_json',
      message: 'The tool call has "arguments" and "inputs". Give one of them.',
    });
  });

  it('may be an answer where no call is needed', () => {
    expect(parseTextProtocolReply('42', { requireCall: false, tools })).toEqual({
      type: 'answer',
      text: '42',
    });
  });

  it.each([
    ['\r\n line ends', `\`\`\`json\r\n{"tool_name":"a"}\r\n\`\`\`\r\n`],
    ['a capital label', '```JSON\n{"tool_name":"a"}\n```'],
  ])('is read with %s', (_name, text) => {
    expect(parseTextProtocolReply(text, { requireCall: true, tools })).toMatchObject({
      type: 'call',
      name: 'a',
    });
  });

  it('gives back any call that was written as taught', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }).filter((name) => name.trim() === name),
        fc.dictionary(fc.string(), fc.string()),
        (name, input) => {
          const text = `Said.\n${block(JSON.stringify({ tool_name: name, arguments: input }))}`;
          const result = parseTextProtocolReply(text, { requireCall: true, tools });
          expect(result).toEqual({
            type: 'call',
            name,
            argumentsText: JSON.stringify(input),
            said: 'Said.',
          });
        },
      ),
    );
  });

  it('never throws', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('```json\n', '```', '\n', '{', '}', '"tool_name"', ':', '"a"')),
        (parts) => {
          parseTextProtocolReply(parts.join(''), { requireCall: true, tools });
        },
      ),
    );
  });
});

const goal: Message = { role: 'user', blocks: [{ type: 'text', text: 'Go.' }] };

/** A call and its result, both with this word in them. */
function step(
  word: string,
  { name = 'read_file', ...changes }: Partial<ToolResultBlock> = {},
): [AssistantMessage, ToolMessage] {
  const id = { toolCallId: word, name };
  return [
    {
      role: 'assistant',
      ...{ vendor: 'v', model: 'm' },
      blocks: [{ type: 'tool-call', ...id, input: { path: word } }],
    },
    {
      role: 'tool',
      results: [{ type: 'tool-result', ...id, content: word, isError: false, ...changes }],
    },
  ];
}

const refusal = (code: AgentErrorCode): string =>
  toToolResponse(agentError(code, 'It failed.', { toolName: 'read_file' }));

describe('a request in the text protocol', () => {
  it('teaches each tool, and puts none on the wire', () => {
    const rendered = renderTextProtocolRequest(requestFor('chat'));
    expect(rendered.tools).toEqual([]);
    expect(rendered.system).toContain('You repair projects.');
    expect(rendered.system).toContain('- read_file({"path": string}): Reads a file.');
    expect(rendered.system).toContain('"tool_name"');
  });

  it.each([
    [
      'read_file',
      'If the task needs another call, make it. If it needs none, give the answer as text.',
    ],
    [
      'complete_task',
      'If the task needs another call, make it. If it needs none, call complete_task.',
    ],
  ])('asks last for the next call: %s', (name, question) => {
    const [tool] = requestFor('chat').tools;
    const request = requestFor('chat', { tools: tool === undefined ? [] : [{ ...tool, name }] });
    const messages = [goal, ...step('a', { name })];
    expect(
      JSON.stringify(renderTextProtocolRequest({ ...request, messages }).messages.at(-1)),
    ).toContain(question);
    const noted = renderTextProtocolRequest({ ...request, messages, note: 'Careful.' });
    expect(noted.note).toBe(`Careful.\n\n${question}`);
    expect(JSON.stringify(noted.messages)).not.toContain('If the task');
    const said = (text: string): Message => ({ role: 'user', blocks: [{ type: 'text', text }] });
    const lastOf = (text: string): string =>
      JSON.stringify(
        renderTextProtocolRequest({ ...request, messages: [...messages, said(text)] }).messages.at(
          -1,
        ),
      );
    expect(lastOf(`${noteProvenance}\nThe runtime itself called it.`)).toContain(question);
    expect(lastOf('Thank you.')).not.toContain('If the task');
    const first = renderTextProtocolRequest({ ...request, messages: [goal] });
    expect(first.messages).toEqual([goal]);
    expect(first).not.toHaveProperty('note');
    expect(renderTextProtocolRequest({ ...request, tools: [], note: 'Careful.' }).note).toBe(
      'Careful.',
    );
  });

  it('leaves out how a run ends by an answer, which the question says', () => {
    const system = `Be brief.\n\n${answerEndsRun}\n\nRules.`;
    const rendered = renderTextProtocolRequest(requestFor('chat', { system }));
    expect(rendered.system).toContain('Be brief.\n\nRules.\n\nYou act only by calling tools.');
    const asked = requestFor('chat', { system, tools: [] });
    expect(renderTextProtocolRequest(asked).system).toBe(system);
  });

  it.each<[string, Partial<ToolResultBlock>, boolean]>([
    ['refused parameters', { content: refusal('invalid_params') }, true],
    ['a tool that does not exist', { content: refusal('invalid_tool') }, true],
    ['a failure that says something', { content: refusal('tool_execution_failed') }, false],
    ['a call that a person denied', { content: refusal('tool_denied') }, false],
    ['an unknown outcome', { content: refusal('outcome_unknown') }, false],
    ['a failure in words', { content: 'invalid_params' }, false],
    [
      'data that looks like a refusal',
      { content: refusal('invalid_params'), isError: false },
      false,
    ],
  ])('leaves out of later requests: %s', (_what, changes, isLeftOut) => {
    const failed = step('failed', { isError: true, ...changes });
    const textOf = (...messages: readonly Message[]): string =>
      JSON.stringify(renderTextProtocolRequest(requestFor('chat', { messages })).messages);
    expect(textOf(goal, ...failed)).toContain('failed');
    const later = textOf(goal, ...step('before'), ...failed, ...step('after'));
    expect(later.includes('failed')).toBe(!isLeftOut);
    expect(later).toContain('before');
    expect(later).toContain('after');
  });

  it('keeps the hints of refused calls until their tool works, the last three', () => {
    const refused = (id: string, hint?: string): readonly Message[] => {
      const content = toToolResponse(
        agentError('invalid_params', 'No.', hint === undefined ? {} : { hint }),
      );
      return step(id, { isError: true, content });
    };
    const lastOf = (...messages: readonly Message[]): string =>
      JSON.stringify(
        renderTextProtocolRequest(
          requestFor('chat', { messages: [goal, ...messages] }),
        ).messages.at(-1),
      );
    const other = step('other', { name: 'list' });
    expect(lastOf(...refused('a', 'Begin\nwith A-.'), ...other)).toContain(
      'Keep in mind: Begin with A-.\\n\\nIf the task',
    );
    const four = ['One.', 'Two.', 'Two.', 'Three.', 'Four.'].flatMap((hint, at) =>
      refused(`r${at}`, hint),
    );
    expect(lastOf(...four, ...other)).toContain('Keep in mind: Two. Three. Four.\\n');
    expect(lastOf(...four, ...step('works'))).not.toContain('Keep in mind');
    expect(lastOf(...refused('a'), ...other)).not.toContain('Keep in mind');
    // The newest refusal is still there itself.
    expect(lastOf(...refused('a', 'Begin with A-.'))).not.toContain('Keep in mind');
  });

  it('leaves out one refused call of several, and keeps the others', () => {
    const [call, result] = step('good');
    const [badCall, badResult] = step('bad', {
      isError: true,
      content: refusal('invalid_params'),
    });
    const messages: readonly Message[] = [
      goal,
      { ...call, blocks: [...call.blocks, ...badCall.blocks] },
      { ...result, results: [...result.results, ...badResult.results] },
      ...step('after'),
    ];
    const { messages: sent } = renderTextProtocolRequest(requestFor('chat', { messages }));
    expect(sent.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ]);
    expect(JSON.stringify(sent)).toContain('good');
    expect(JSON.stringify(sent)).not.toContain('bad');
  });

  it('lists inputs as signatures, and no schema', () => {
    const { system } = renderTextProtocolRequest(requestFor('chat', { system: '' }));
    const [form = '', list = ''] = system.split('Tools:');
    expect(form).toContain('{"tool_name":"NAME","arguments":{"INPUT":"VALUE"}}');
    expect(list).toBe('\n- read_file({"path": string}): Reads a file.');
  });

  it.each<readonly [string, z.ZodType | JsonObject, string]>([
    [
      'optional ones',
      z.object({ a: z.string(), b: z.number().optional() }),
      '{"a": string, "b"?: number}',
    ],
    ['values', z.object({ a: z.enum(['x', 'y']), b: z.literal(3) }), '{"a": "x" | "y", "b": 3}'],
    [
      'lists',
      z.object({ a: z.array(z.string()), b: z.array(z.enum(['x', 'y'])) }),
      '{"a": string[], "b": ("x" | "y")[]}',
    ],
    ['objects', z.object({ a: z.object({ b: z.boolean() }) }), '{"a": {"b": boolean}}'],
    ['alternatives', z.object({ a: z.union([z.string(), z.null()]) }), '{"a": string | null}'],
    [
      'descriptions',
      z.object({ a: z.string().describe('A room,\n as "12".') }),
      '{"a": string (A room, as "12".)}',
    ],
    [
      'bounds',
      z.object({ a: z.int().min(1).max(9), b: z.iso.date() }),
      '{"a": integer (minimum 1; maximum 9), "b": string (format date',
    ],
    ['defaults', z.object({ a: z.number().default(5) }), '{"a"?: number (default 5)}'],
    [
      'open names',
      { type: 'object', properties: {}, additionalProperties: { type: 'number' } },
      '{[any name]: number}',
    ],
    ['nothing', z.object({}), '{}'],
    [
      'what has no words',
      { type: 'object', properties: { a: { allOf: [{ type: 'string' }] } } },
      '{"a"?: {"allOf":[{"type":"string"}]}}',
    ],
    [
      'what only a schema says',
      { type: 'object', properties: { a: { type: 'object', properties: {}, oneOf: [] } } },
      '{"a"?: {"type":"object","properties":{},"oneOf":[]}}',
    ],
    ['no object', { type: 'string' }, '{"type":"string"}'],
  ])('writes a signature with %s', (_what, schema, signature) => {
    const json = schema instanceof z.ZodType ? inputSchemaFromZod('t', schema) : schema;
    expect(inputSignature(json)).toContain(signature);
  });

  it('names each property of any schema, and never throws', () => {
    const schema = fc.letrec<{ node: JsonObject }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<JsonObject>({ type: 'string' }, {}, { enum: [1, null] }, { $ref: '#' }),
        fc
          .dictionary(fc.stringMatching(/^[a-z]{3,8}$/), tie('node'))
          .map((properties): JsonObject => ({ type: 'object', properties })),
        tie('node').map((items): JsonObject => ({ type: 'array', items })),
        fc.array(tie('node')).map((anyOf): JsonObject => ({ anyOf })),
      ),
    })).node;
    fc.assert(
      fc.property(schema, (node) => {
        const names = [...JSON.stringify(node).matchAll(/"([a-z]{3,8})":\{/g)].map(
          ([, name = '']) => name,
        );
        const written = inputSignature({ type: 'object', properties: { whole: node } });
        for (const name of names.filter((each) => !['properties', 'items'].includes(each)))
          expect(written).toContain(`"${name}"`);
      }),
    );
  });

  it('leaves a request without tools alone', () => {
    const request = requestFor('chat', { tools: [] });
    expect(renderTextProtocolRequest(request)).toEqual(request);
  });

  it.each(wires)('is taken for any transcript on the wire %s', async (wire) => {
    const emulator = await VendorEmulator.start();
    emulator.script(() => reply.text('ok'));
    const provider = providerOn(emulator, wire);
    await fc.assert(
      fc.asyncProperty(damagedTranscript, async (messages) => {
        const rendered = renderTextProtocolRequest(requestFor(wire, { messages }));
        expect(JSON.stringify(rendered.messages)).not.toMatch(/"type":"tool-(call|result)"/);
        await provider.send(rendered, sendOptions());
      }),
      cases(15),
    );
    expect(emulator.refusals).toEqual([]);
    await emulator.stop();
  });
});
