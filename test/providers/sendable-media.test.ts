/** Images and documents on each wire; one that the vendor would refuse becomes a text that says so, before it refuses the run. */
import { measureRequest } from '../../activities/measure/measure-request';
import type { ModelRequest } from '../../activities/providers/provider';
import { mediaLeftOut, sendableMedia } from '../../activities/providers/request/sendable-media';
import { loadedBlock } from '../../bench/scorecard/transcripts/pixels';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import type { MediaBlock, Message } from '../../workflows/core/message';
import { pdfFile } from '../support/media-files';
import { models, providerOn, requestFor, sendOptions, wires } from './support/provider-bench';

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A PNG that says it is so large, with bytes behind it. */
function png(width: number, height: number, spareBytes = 0): MediaBlock {
  const bytes = Buffer.concat([Buffer.from(pixel, 'base64'), Buffer.alloc(spareBytes)]);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return loadedBlock(bytes.toString('base64'));
}

const sound = png(640, 480);

function showing(...images: readonly MediaBlock[]): readonly Message[] {
  return images.map((image) => ({
    role: 'user',
    blocks: [{ type: 'text', text: 'Look.' }, image],
  }));
}

let emulator: VendorEmulator;
beforeAll(async () => {
  emulator = await VendorEmulator.start({ recordedBodyBytes: 0 });
  emulator.script(() => reply.text('ok'));
});
afterAll(() => emulator.stop());

const many = Array.from({ length: 21 }, (_, index) => png(2_500, 100 + index));

const cases: readonly (readonly [string, readonly MediaBlock[], number, RegExp])[] = [
  ['an image of too many pixels', [png(9_000, 40), sound], 1, /9000 x 40 pixels.* at most 8000/],
  ['an image of too many bytes', [png(10, 10, 4_200_000), sound], 1, /bytes of base64/],
  ['a large image among many', many, 11, /no more than 20 images/],
];

test.each(cases)('Anthropic gets a text in the place of %s', async (_what, images, sent, words) => {
  const messages = showing(...images);
  const request = requestFor('anthropic', { messages });
  await expect(
    providerOn(emulator, 'anthropic').send(request, sendOptions()),
  ).resolves.toBeDefined();
  const body = JSON.stringify(emulator.requests.at(-1)?.body);
  expect(body.match(/"type":"image"/g)).toHaveLength(sent);
  expect(body).toMatch(words);
  // The newest stays.
  expect(body).toContain(images.at(-1)?.data);
  const measured = measureRequest(request, { wire: 'anthropic', route: 'r' });
  expect(measured.images).toBe(sent);
});

test.each(wires)('%s gets every image that it takes, as it is', async (wire) => {
  const messages = showing(sound, png(2_000, 2_000), png(7_999, 10));
  const request = requestFor(wire, { messages, model: models[wire] });
  expect(sendableMedia(request, wire)).toBe(messages);
  await expect(providerOn(emulator, wire).send(request, sendOptions())).resolves.toBeDefined();
  const body = JSON.stringify(emulator.requests.at(-1)?.body);
  expect(body).toContain(sound.data);
  expect(body).not.toContain('left an image out');
});

test.each(['responses', 'chat'] as const)('%s gets large images whole', async (wire) => {
  const messages = showing(png(9_000, 40));
  await providerOn(emulator, wire).send(requestFor(wire, { messages }), sendOptions());
  expect(JSON.stringify(emulator.requests.at(-1)?.body)).toContain(png(9_000, 40).data);
});

test('the oldest images go ten at a time, so that the cached beginning changes seldom', () => {
  const left = (count: number): number =>
    JSON.stringify(
      sendableMedia(
        requestFor('anthropic', {
          messages: showing(...Array.from({ length: count }, () => png(2_500, 10))),
        }),
        'anthropic',
      ),
    ).split('left an image out').length - 1;
  expect([20, 21, 30, 31].map(left)).toEqual([0, 10, 10, 20]);
});

const bill = pdfFile(2);
const document = { ...loadedBlock(bill.toString('base64'), 'file'), name: 'bill.pdf' };
const url = `data:application/pdf;base64,${bill.toString('base64')}`;
/** A document as each wire has it. */
const documents = {
  anthropic: {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: bill.toString('base64') },
    title: 'bill.pdf',
  },
  responses: { type: 'input_file', filename: 'bill.pdf', file_data: url },
  chat: { type: 'file', file: { filename: 'bill.pdf', file_data: url } },
} as const;
const asked = (media: MediaBlock): Message => ({
  role: 'user',
  blocks: [{ type: 'text', text: 'Look.' }, media, { type: 'text', text: 'And then?' }],
});

/** The parts of the user message that the emulator got last. */
function partsGot(): readonly unknown[] {
  const body = emulator.requests.at(-1)?.body as Record<string, readonly object[]>;
  const messages = body['messages'] ?? body['input'] ?? [];
  const last = messages.at(-1) as { readonly content: unknown };
  return Array.isArray(last.content) ? (last.content as readonly unknown[]) : [last.content];
}

test.each(wires)('%s gets a PDF as its document, in its place between the texts', async (wire) => {
  const request = requestFor(wire, { messages: [asked(document)] });
  await providerOn(emulator, wire).send(request, sendOptions());
  const [before, sent, after] = partsGot();
  expect(sent).toEqual(documents[wire]);
  expect([before, after]).toMatchObject([{ text: 'Look.' }, { text: 'And then?' }]);
  expect(emulator.refusals).toEqual([]);
});

test.each(wires)('%s: a model that takes text alone gets a note for each', async (wire) => {
  const messages = [asked(document), asked(sound)];
  const request = requestFor(wire, { messages, media: {} });
  await providerOn(emulator, wire).send(request, sendOptions());
  const body = JSON.stringify(emulator.requests.at(-1)?.body);
  expect(body).not.toContain('base64');
  expect(body).toContain(
    '[The runtime left a document out here (bill.pdf, application/pdf): this model takes no PDF documents.]',
  );
  expect(body).toContain('an image out here (image/png): this model takes no images.');
  expect(mediaLeftOut(request, wire)).toHaveLength(2);
  expect(measureRequest(request, { wire, route: 'r' })).toMatchObject({ images: 0, pages: 0 });
});

test('the oldest documents make room for the pages that Anthropic takes', () => {
  const long = loadedBlock(pdfFile(60).toString('base64'), 'file');
  const longer = loadedBlock(pdfFile(101).toString('base64'), 'file');
  const request = requestFor('anthropic', {
    model: 'claude-sonnet-4-20250514',
    messages: [asked(long), asked({ ...long }), asked(longer)],
  });
  expect(mediaLeftOut(request, 'anthropic')).toEqual([
    'application/pdf: 101 pages, and this model takes at most 100',
    'application/pdf: an older one, and this model takes no more than 100 pages in all',
  ]);
  expect(measureRequest(request, { wire: 'anthropic', route: 'r' }).pages).toBe(60);
});

test('what compaction removed says what it was, and how to see it again where there is a tool', () => {
  const messages = [asked({ ...document, removed: true })];
  const [tool] = requestFor('chat').tools;
  const shown = (tools: ModelRequest['tools']): string =>
    JSON.stringify(sendableMedia({ ...requestFor('chat', { messages }), tools }, 'chat'));
  expect(shown([])).toContain(
    '[A document was here (bill.pdf, application/pdf, 2 pages). The runtime removed it to save space. Ask for it again if you need it.]',
  );
  const again = `See it again with read_output, ref \\"${document.ref}\\".`;
  expect(shown(tool === undefined ? [] : [{ ...tool, name: 'read_output' }])).toContain(again);
  expect(mediaLeftOut(requestFor('chat', { messages }), 'chat')).toEqual([]);
});
