/** The text that people see of a reply in progress: clean at every moment, whole at the end, and never in the reply's way. */
import { setTimeout as delay } from 'node:timers/promises';
import { LiveText, VisibleText } from '../../activities/model-call/live-text';
import { withoutSecrets } from '../../activities/untrusted/known-secrets';
import type { TextPiece } from '../../workflows/core/model-call/live-text';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { fc } from '../support/properties';
import { temporaryStore } from '../support/temporary-store';

const token = `ghp_${'A1b2C3d4E5f6G7h8I9'.repeat(2)}`;
const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA\n'.repeat(6)}-----END PRIVATE KEY-----`;

/** What is seen after each piece of this many characters, and at the end. */
function seenOf(text: string, size: number, isTextProtocol = false): readonly string[] {
  const visible = new VisibleText(isTextProtocol);
  const seen: string[] = [];
  for (let at = 0; at < text.length; at += size) {
    visible.add(text.slice(at, at + size));
    seen.push(visible.visible(false));
  }
  return [...seen, visible.visible(true)];
}

test('no part of a secret is seen, whatever the pieces are', () => {
  const filler = fc.constantFrom('word ', 'Wort, ', '語', '\n\n', '{"a": 1} ', '\u001b[31m', '😀 ');
  const secret = fc.constantFrom(token, `password: ${'x7Gh2kQ9'.repeat(3)}`);
  const text = fc
    .array(fc.oneof({ weight: 20, arbitrary: filler }, { weight: 1, arbitrary: secret }), {
      maxLength: 200,
    })
    .map((parts) => parts.join(' '));
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 40 }), (whole, size) => {
      const seen = seenOf(whole, size);
      expect(seen.at(-1)).toBe(withoutSecrets(stripHidden(whole)));
      for (const one of seen) expect(one).not.toMatch(/ghp_|x7Gh/);
    }),
  );
});

test('a text of 300,000 characters is whole at the end, and each look costs its end alone', () => {
  const line = 'A line of a long answer, with a path /usr/lib and a number 12345.\n';
  const section = `${line.repeat(3)}${token}\n`;
  const long = `${section.repeat(650)}${key}\n${section.repeat(650)}`;
  const seen = seenOf(long, 1_000);
  expect(seen.at(-1)).toBe(withoutSecrets(stripHidden(long)));
  for (const one of seen) expect(one).not.toMatch(/MIIE|ghp_/);
});

test('words before a closing tag were a thought: the text begins again without them', () => {
  const thought = 'I should first think about it. '.repeat(2_000);
  const seen = seenOf(`${thought}</think>\nThe answer.`, 500);
  expect(seen.at(-2)).toBe('The ');
  expect(seen.at(-1)).toBe('The answer.');
});

test.each([
  ['a call', '```json\n{"tool_name": "look", "arguments": {}}\n```', ''],
  ['data', '```json\n{"rivers": ["Elbe"]}\n```', '\n\n```json\n{"rivers": ["Elbe"]}\n```'],
])('in the text protocol, %s is not read as text until the end decides', (_, block, end) => {
  const seen = seenOf(`Look here.\n\n${block}`, 5, true);
  for (const one of seen.slice(0, -1)) expect(one).not.toContain('json');
  expect(seen.at(-1)).toBe(`Look here.${end}`);
});

const place = {
  ...{ runKey: 'default/run', call: 't1/1', iteration: 1, attempt: 1, route: 'a/b' },
  isTextProtocol: false,
};

/** What a reader of these pieces has read. */
function read(pieces: readonly TextPiece[]): string {
  return pieces.reduce((text, piece) => text.slice(0, piece.offset) + piece.text, '');
}

test('a watched text is written while it arrives, and its end before the reply goes on', async () => {
  const stored = await temporaryStore();
  const { store } = stored;
  await store.liveTexts.watch(place.runKey, undefined);
  const live = new LiveText(store.liveTexts, place);
  live.add('The first words, ');
  let pieces = await store.liveTexts.watch(place.runKey, undefined);
  while (pieces.length === 0) {
    await delay(20);
    pieces = await store.liveTexts.watch(place.runKey, undefined);
  }
  expect(read(pieces)).toBe('The first words, ');
  live.add('and the last.');
  await live.end();
  pieces = await store.liveTexts.watch(place.runKey, undefined);
  expect(read(pieces)).toBe('The first words, and the last.');
  expect(pieces.map(({ offset }) => offset)).toEqual([0, 'The first words, '.length]);
  // The retry of a broken attempt takes its words back before it has any of its own.
  const retry = new LiveText(store.liveTexts, { ...place, call: 't1/2', attempt: 2 });
  do {
    await delay(20);
    pieces = await store.liveTexts.watch(place.runKey, undefined);
  } while (pieces[0]?.call !== 't1/2');
  expect(read(pieces)).toBe('');
  await retry.end();
  await stored.dispose();
});

test('nobody watches: nothing is written; a store that fails or hangs loses text, and no reply', async () => {
  const stored = await temporaryStore();
  const { store } = stored;
  const unwatched = new LiveText(store.liveTexts, place);
  unwatched.add('A text that nobody reads. '.repeat(20));
  await unwatched.end();
  expect(await store.liveTexts.watch(place.runKey, undefined)).toEqual([]);
  const broken = new LiveText(store.liveTexts, place);
  broken.add('Lost. '.repeat(100));
  await stored.dispose();
  await broken.end();
  const hanging = new LiveText(
    { isWatched: () => new Promise<never>(() => undefined), write: () => Promise.resolve() },
    place,
  );
  hanging.add('Lost. '.repeat(100));
  await hanging.end();
});
