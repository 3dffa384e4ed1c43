/** One conversation of 30 iterations moves over all dialects and back: no server refuses a request, with real SDKs over HTTP. */
import { pixel } from '../../../bench/scorecard/transcripts/pixels';
import type { Message } from '../../../workflows/core/message';
import { reply } from '../../../testing/emulator/script';
import type { VendorEmulator } from '../../../testing/emulator/emulator';
import { userMessage } from '../support/provider-bench';
import type { Served } from './served';
import { kept, sendTo, servers, startServers } from './served';

const image = pixel.png;

let emulator: VendorEmulator;
beforeEach(async () => {
  emulator = await startServers();
});
afterEach(async () => {
  await emulator.stop();
});

const names = Object.keys(servers) as readonly Served[];

function step(place: number): ReturnType<typeof reply.toolCalls> {
  const paths = place % 3 === 0 ? ['a', 'b', 'c'] : ['a'];
  const calls = paths.map((path) => ({ name: 'read_file', input: { path: `${path}${place}` } }));
  return reply.toolCalls(calls, {
    reasoning: `Thought ${place}.`,
    ...(place % 2 === 0 ? { text: `Reading ${place}.` } : {}),
  });
}

/** What follows a reply: results, at times with images as those of MCP tools, at times a person. */
function answersTo(message: Extract<Message, { role: 'assistant' }>, place: number): Message[] {
  const results = message.blocks.flatMap((block) =>
    block.type === 'tool-call'
      ? ([
          {
            type: 'tool-result',
            toolCallId: block.toolCallId,
            name: block.name,
            content: `content ${place}`,
            isError: false,
            ...(place % 4 === 1 ? { media: [image] } : {}),
            ...(place % 12 === 0 ? { media: [image, image] } : {}),
          },
        ] as const)
      : [],
  );
  return [
    { role: 'tool', results },
    ...(place % 5 === 2 ? [userMessage('Go on.'), userMessage('And hurry.')] : []),
  ];
}

function imagesIn(messages: readonly Message[]): number {
  const results = messages.flatMap((each) => (each.role === 'tool' ? each.results : []));
  return results.flatMap(({ media = [] }) => media).length;
}

test.each([1, 4, 7])('thirty iterations, %i servers further each time', async (stride) => {
  const messages: Message[] = [userMessage('Read the files.')];
  for (let place = 0; place < 30; place += 1) {
    const name = names[(place * stride) % names.length] ?? 'anthropic';
    emulator.script([step(place)]);
    // Every third request has a note of the runtime, which comes last and is not kept.
    const note = place % 3 === 2 ? { note: '[Of the runtime.] Be brief.' } : {};
    const got = await sendTo(emulator, name, messages, note);
    const message = kept(emulator, name, got, place);
    messages.push(message, ...answersTo(message, place));
  }
  emulator.script([reply.text('done')]);
  await sendTo(emulator, 'mistral', messages);
  expect(emulator.refusals.map(({ error }) => error.message)).toEqual([]);
  expect(emulator.requests).toHaveLength(31);
  const last = JSON.stringify(emulator.requests.at(-1)?.body);
  expect(last.split(String(image.data))).toHaveLength(1 + imagesIn(messages));
  expect(new Set(emulator.requests.map(({ mount }) => mount)).size).toBe(names.length);
});
