/** A stream of Anthropic's that has lost the name or the data of an event is broken: its SDK drops such an event without a word. */
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault } from '../../testing/emulator/script';
import { failureOf, providerOn, requestFor, sendOptions } from './support/provider-bench';

let emulator: VendorEmulator;
beforeAll(async () => {
  emulator = await VendorEmulator.start();
});
afterAll(() => emulator.stop());

const start = {
  type: 'message_start',
  message: { model: 'm', usage: { input_tokens: 7, output_tokens: 1 } },
};
const begun = {
  type: 'content_block_start',
  index: 0,
  content_block: { type: 'tool_use', id: 'toolu_1', name: 'read_file', input: {} },
};
const piece = (text: string) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'input_json_delta', partial_json: text },
});
const shut = { type: 'content_block_stop', index: 0 };
const ended = { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} };
const stop = { type: 'message_stop' };

const named = (event: { readonly type: string }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const before = [start, begun, piece('{"path":"a')].map(named).join('');
const after = [piece('.txt"}'), shut, ended, stop].map(named).join('');

function send(middle: string, lineEnd = '\n') {
  const text = `${before}${middle}${after}`.replaceAll('\n', lineEnd);
  const pieces = [...Buffer.from(text)].map((byte) => Buffer.from([byte]));
  emulator.script([fault.raw({ headers: { 'content-type': 'text/event-stream' }, pieces })]);
  return providerOn(emulator, 'anthropic').send(requestFor('anthropic'), sendOptions());
}

test.each([
  ['its name', `data: ${JSON.stringify(piece('/../b'))}\n\n`, 'without its name'],
  [
    'its name, between',
    `event: content_block_delta\n\ndata: ${JSON.stringify(piece('b'))}\n\n`,
    'without its',
  ],
  ['its data', 'event: content_block_delta\n\n', 'without its data'],
  [
    'its field',
    `event: content_block_delta\ndbta: ${JSON.stringify(piece('b'))}\n\n`,
    'without its data',
  ],
])('an event without %s breaks the stream', async (_what, middle, words) => {
  for (const lineEnd of ['\n', '\r\n', '\r']) {
    const failure = await failureOf(send(middle, lineEnd));
    expect(failure).toMatchObject({ code: 'network' });
    expect(failure.message).toContain(words);
  }
});

test.each([
  ['a comment', ': keep-alive\n\n'],
  ['a ping', 'event: ping\ndata: {"type":"ping"}\n\n'],
  ['a ping without data', 'event: ping\n\n'],
  ['a mark that is no JSON', 'data: [DONE]\n\n'],
  ['blank lines', '\n\n\n'],
])('%s changes nothing', async (_what, middle) => {
  const { toolCalls } = await send(middle);
  expect(toolCalls.map(({ argumentsText }) => argumentsText)).toEqual(['{"path":"a.txt"}']);
});
