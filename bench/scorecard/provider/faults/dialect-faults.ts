/** Dialects of servers, refusals of thoughts, and stop reasons that say one thing while the reply says another. */
import {
  chatDialects,
  type ChatDialect,
} from '../../../../activities/providers/openai/chat-dialect';
import type { ReplyStep } from '../../../../testing/emulator/script';
import { reply } from '../../../../testing/emulator/script';
import type { ChatServerName } from '../../../../testing/emulator/step';
import type { WireName } from '../../../../testing/emulator/wire';
import type { JsonValue } from '../../../../workflows/core/json';
import type { RowOptions } from '../fault-builders';
import { corrected, done, retried, unhurt } from '../fault-builders';
import type { ProviderFault } from '../provider-fault';
import { goodAnswer } from '../provider-fault';
import { rawHttp, rawSse } from '../recorded-answer';

const wires: readonly WireName[] = ['anthropic', 'responses', 'chat'];

/** A reply that thinks, then asks for the agent's tool. */
function thoughtful(...inputs: readonly string[]): ReplyStep {
  const calls = inputs.map((text) => ({ name: 'note', input: { text } }));
  return reply.toolCalls(calls, { reasoning: 'I note it, then I am done.' });
}

/** Servers as strictly as they are, each with its dialect. */
const servers: readonly (readonly [ChatServerName, ChatDialect])[] = [
  ['mistral', chatDialects.mistral],
  ['kimi', chatDialects.kimi],
  ['deepseek', chatDialects.deepseek],
  ['gemini', chatDialects.gemini],
  ['ollama', chatDialects.ollama],
  ['vllm', chatDialects.vllm],
  ['vllm-mistral', chatDialects.mistral],
];

function strictServers(): readonly ProviderFault[] {
  return servers.flatMap(([server, dialect]) => {
    const options: RowOptions = { server, dialect, afterTool: 'one' };
    const parallel = unhurt(
      `${server}: thoughts and parallel calls go back`,
      'chat',
      done,
      options,
    );
    const noted = corrected(
      `${server}: a note after a result`,
      'chat',
      reply.rawToolArguments('note', '{"words":"a"}'),
      // The model ends without another try, so nothing is healed.
      {},
      options,
    );
    return [
      unhurt(`${server}: a call goes back`, 'chat', done, options),
      { ...parallel, before: [thoughtful('one', 'two')], toolRuns: ['one', 'two'] },
      { ...noted, before: [thoughtful('one')] },
    ];
  });
}

const openAi = (message: string, code: string | null = null): JsonValue => ({
  error: { message, type: 'invalid_request_error', param: null, code },
});
const anthropic = (message: string): JsonValue => ({
  type: 'error',
  error: { type: 'invalid_request_error', message },
});

/** What servers say about thoughts that a request sends back; each is asked again once, without or with them. */
const refusals: readonly (readonly [string, WireName, JsonValue, number?])[] = [
  [
    'encrypted content',
    'responses',
    openAi(
      'The encrypted content gAAA...blob could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
      'invalid_encrypted_content',
    ),
  ],
  [
    'encrypted content, in words alone',
    'responses',
    openAi('The encrypted content for item rs_1 could not be verified.'),
  ],
  ['encrypted content, as 500', 'responses', openAi('upstream', 'invalid_encrypted_content'), 500],
  [
    'an item without its partner',
    'responses',
    openAi("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
  ],
  [
    'signature',
    'anthropic',
    anthropic('messages.1.content.0: Invalid `signature` in `thinking` block'),
  ],
  [
    'changed thought',
    'anthropic',
    anthropic(
      'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
    ),
  ],
  [
    'redacted thought',
    'anthropic',
    anthropic('messages.1.content.0: Invalid `data` in `redacted_thinking` block'),
  ],
  [
    'missing reasoning_content (Kimi)',
    'chat',
    openAi(
      'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
    ),
  ],
  [
    'missing reasoning_content (DeepSeek)',
    'chat',
    openAi('The `reasoning_content` in the thinking mode must be passed back to the API.'),
  ],
  [
    'missing thought_signature',
    'chat',
    openAi('Function call is missing a thought_signature in functionCall parts.'),
  ],
];

function refusedThoughts(): readonly ProviderFault[] {
  return refusals.map(([name, wire, body, status = 400]) => {
    const refused = rawHttp({ status, body });
    const row = retried(`thoughts refused: ${name}`, wire, refused, 'format', { afterTool: 'one' });
    return { ...row, before: [thoughtful('one')] };
  });
}

const tool = { asksTool: 'natively' };
const call = '{"name": "note", "arguments": {"text": "a"}}';

/** A call of the agent's tool as models write it. */
const markup: Readonly<Record<string, string>> = {
  DSML: '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="note">\n<｜DSML｜parameter name="text" string="true">a</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
  '[TOOL_CALLS]': `[TOOL_CALLS]note[ARGS]{"text": "a"}`,
  "Kimi's section":
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>{"text": "a"}<|tool_call_end|><|tool_calls_section_end|>',
  "GLM's keys": '<tool_call>note\n<arg_key>text</arg_key>\n<arg_value>a</arg_value>\n</tool_call>',
  '<function=…>': '<tool_call>\n<function=note>\n<parameter=text>\na\n</parameter>\n</function>',
  '<tool_call>': `<tool_call>\n${call}\n</tool_call>`,
  'a fence': `\`\`\`json\n${call}\n\`\`\``,
};

function announcedCalls(): readonly ProviderFault[] {
  const announced = (wire: WireName): ProviderFault =>
    corrected(
      'tool use without a call',
      wire,
      { ...reply.text('I note it.'), stop: 'tool-use' },
      { no_tool_call: 1 },
      tool,
    );
  return [
    announced('anthropic'),
    announced('chat'),
    ...Object.entries(markup).map(([name, text]) =>
      corrected(`a call written as ${name}`, 'chat', reply.text(text), { no_tool_call: 1 }, tool),
    ),
    ...wires.map((wire) =>
      corrected(
        'arguments end at the output limit under another stop reason',
        wire,
        reply.rawToolArguments('note', '{"text": "half a tho', { usage: { outputTokens: 1_024 } }),
        { output_truncated: 1 },
        tool,
      ),
    ),
  ];
}

const event = (data: { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}`;
const item = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'note' };

/** A call of the Responses API whose pieces say "half", with these events behind them. */
function responsesCall(...events: readonly { readonly type: string }[]): ReturnType<typeof rawSse> {
  const all = [
    { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
    { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"text":"hal' },
    ...events,
    { type: 'response.completed', response: { status: 'completed', output: [] } },
  ];
  return rawSse({ events: all.map((each) => event(each)) });
}

function ends(): readonly ProviderFault[] {
  const final = { ...item, arguments: '{"text":"final"}' };
  const itemDone = { type: 'response.output_item.done', output_index: 0, item: final };
  const argumentsDone = {
    type: 'response.function_call_arguments.done',
    output_index: 0,
    arguments: '{"text":"middle"}',
  };
  const openUse = [
    { type: 'message_start', message: { usage: {} } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 't', name: 'note', input: {} },
    },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"text":"hal' },
    },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} },
    { type: 'message_stop' },
  ];
  return [
    {
      ...corrected(
        'the final item of a call',
        'responses',
        responsesCall(argumentsDone, itemDone),
        {},
      ),
      toolRuns: ['final'],
    },
    retried('a call that never ended', 'responses', responsesCall(), 'network', tool),
    retried(
      'a call that never ended',
      'anthropic',
      rawSse({ events: openUse.map((each) => event(each)) }),
      'network',
      tool,
    ),
  ];
}

const json = (body: JsonValue): ReturnType<typeof rawHttp> => rawHttp({ status: 200, body });

function textOfLocalServers(): readonly ProviderFault[] {
  const { vllm } = chatDialects;
  const texts: Readonly<Record<string, string>> = {
    'a thought in tags': `<think>\nA plan.\n</think>\n\n${goodAnswer}`,
    'only the closing tag of a thought': `A plan.\n</think>\n\n${goodAnswer}`,
    'an empty thought in tags': `<think>\n\n</think>\n\n${goodAnswer}`,
    'a thought in other tags': `<reasoning>A plan.</reasoning>${goodAnswer}`,
  };
  return [
    ...Object.entries(texts).map(([name, text]) =>
      unhurt(name, 'chat', reply.text(text, { charactersPerDelta: 3 }), { dialect: vllm }),
    ),
    unhurt(
      'JSON instead of a stream',
      'chat',
      json({ choices: [{ index: 0, message: { content: goodAnswer }, finish_reason: 'stop' }] }),
    ),
    unhurt(
      'JSON instead of a stream',
      'responses',
      json({
        object: 'response',
        status: 'completed',
        output: [{ type: 'message', content: [{ type: 'output_text', text: goodAnswer }] }],
      }),
    ),
    unhurt(
      'JSON instead of a stream',
      'anthropic',
      json({
        type: 'message',
        content: [{ type: 'text', text: goodAnswer }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    ),
  ];
}

/** Rows of this kind. */
export function dialectFaults(): readonly ProviderFault[] {
  return [
    ...strictServers(),
    ...refusedThoughts(),
    ...announcedCalls(),
    ...ends(),
    ...textOfLocalServers(),
  ];
}
