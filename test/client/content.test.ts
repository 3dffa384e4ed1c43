/** Wrong use of images and files: refused before anything is stored or sent, with the thing, the value and the remedy. */
import { runAgent } from '../../workflows/run-agent';
import type { AgentClient } from '../../client/agent-client';
import { problemOfContent, storedContent } from '../../client/start/content';
import { checkStart } from '../../client/start/start-run';
import { defineAgent } from '../../activities/index';
import type { Content } from '../../client/index';
import { pngFile } from '../support/media-files';
import { temporaryStore } from '../support/temporary-store';

const photo = pngFile(4, 4);
const text = { type: 'text', text: 'Look.' };

test.each<[string, unknown, RegExp]>([
  ['nothing', undefined, /^The goal must be a string, or a list of parts$/],
  ['one part without a list', text, /must be a string, or a list of parts/],
  ['an empty list', [], /^The goal is empty$/],
  ['a blank text', '  ', /^The goal is empty$/],
  ['blank texts', [{ type: 'text', text: ' ' }], /^The goal is empty$/],
  ['a text of too many characters', 'x'.repeat(64_001), /has 64001 characters; at most 64000/],
  [
    'texts of too many characters',
    [text, { type: 'text', text: 'x'.repeat(64_000) }],
    /at most 64000/,
  ],
  [
    'a string as a part',
    ['Look.'],
    /^Part 1 of the goal must be an object such as .*, got string$/,
  ],
  [
    'an unknown type',
    [text, { type: 'video', data: photo }],
    /^Part 2 .* type "video"; use "text", "image" or "file"/,
  ],
  ['a part without a type', [{ data: photo }], /Part 1 .* has the type undefined/],
  [
    'an address',
    [text, { type: 'image', url: 'https://x/y.png' }],
    /unknown field "url"; "image" takes data, mediaType, name \(give the bytes/,
  ],
  [
    'a misspelled field',
    [{ type: 'image', data: photo, mimeType: 'image/png' }],
    /unknown field "mimeType"/,
  ],
  ['a text with bytes', [{ type: 'text', text: 'x', data: photo }], /"text" takes text$/],
  ['a text part without text', [{ type: 'text' }], /Part 1 of the goal has no text/],
  [
    'no bytes',
    [text, { type: 'image' }],
    /data must be the bytes \(a Uint8Array\) or their base64, got undefined/,
  ],
  ['a stream', [{ type: 'file', data: {} }], /got object/],
  ['a name that is no text', [{ type: 'file', data: photo, name: 7 }], /name must be a string/],
  [
    'too many',
    Array(21).fill({ type: 'image', data: photo }),
    /has 21 images and files; at most 20/,
  ],
])('%s', (_what, given, problem) => {
  expect(problemOfContent('The goal', given)).toMatch(problem);
});

test.each<Content>([
  'Look.',
  [{ type: 'text', text: 'Look.' }],
  [{ type: 'image', data: photo }],
  [{ type: 'file', data: photo.toString('base64'), mediaType: 'text/plain', name: 'a' }],
])('content %# is taken', (given) => {
  expect(problemOfContent('The goal', given)).toBeUndefined();
});

test('a start takes no attachments that somebody else stored, and says what it takes', () => {
  const start = { agent: 'a', goal: 'Look.', attachments: [] };
  expect(() => {
    checkStart(start);
  }).toThrow(/Unknown option "attachments"; a start takes agent, goal,.* Nothing was started\./);
});

test('a client without a store refuses media, and says how to give it one', async () => {
  await expect(
    storedContent(undefined, [{ type: 'image', data: photo }], 'Nothing was sent.'),
  ).rejects.toThrow(/no store.*connect\(\{ store: await openStore\(url\) \}\)\. Nothing was sent/);
});

test('what a store refuses names the part, and that nothing was sent', async () => {
  const stored = await temporaryStore();
  const content: Content = [{ type: 'image', data: Buffer.from('GIF'), name: 'a.gif' }];
  await expect(storedContent(stored.store, content, 'Nothing was sent.')).rejects.toThrow(
    /The image "a\.gif" cannot be used: it is no PNG.*Nothing was sent\./,
  );
  await stored.dispose();
});

test('a store that is down is no wrong input', async () => {
  const stored = await temporaryStore();
  await stored.dispose();
  await expect(
    storedContent(stored.store, [{ type: 'image', data: photo }], 'Nothing was sent.'),
  ).rejects.toMatchObject({ code: 'unreachable' });
});

test('types: what is no content does not compile', () => {
  const client = undefined as unknown as AgentClient;
  const agent = defineAgent({
    name: 'a',
    instructions: 'x',
    chain: [{ provider: 'p', model: 'm' }],
    tools: [],
  });
  const calls = [
    () => client.start(agent, { goal: [{ type: 'image', data: photo }] }),
    () => client.run('r').addMessage([{ type: 'text', text: 'x' }]),
    () => client.run('r').answer('q', [{ type: 'file', data: photo, name: 'a.pdf' }]),
    async () => runAgent('a', await client.upload([{ type: 'image', data: photo }])),
    // @ts-expect-error a part has no address
    () => client.start(agent, { goal: [{ type: 'image', url: 'https://x' }] }),
    // @ts-expect-error an image has data
    () => client.run('r').addMessage([{ type: 'image' }]),
    // @ts-expect-error there is no such part
    () => client.run('r').answer('q', [{ type: 'audio', data: photo }]),
    // @ts-expect-error only the runtime names what is stored
    () => client.start(agent, { goal: 'x', attachments: [] }),
  ];
  expect(calls).toHaveLength(8);
});
