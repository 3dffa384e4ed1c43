/** An image that the vendor would refuse becomes a text that says so, before the vendor refuses the run. */
import { measureRequest } from '../../activities/measure/measure-request';
import { sendableMedia } from '../../activities/providers/request/sendable-media';
import { loadedBlock } from '../../bench/scorecard/transcripts/pixels';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import type { MediaBlock, Message } from '../../workflows/core/message';
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
