/** Which calls are the same action (ADR 0037). */
import { actionDigest } from '../../activities/tool-call/action-digest';
import { canonicalJson, contentHash } from '../../activities/stores/content-hash';

const given = { a: 1 };
const digestOf = (value: unknown): string => contentHash(canonicalJson(value));
/** The digest of a call whose schema makes this of its arguments, each time. */
const digest = (ran: unknown, again = ran): Promise<string> =>
  actionDigest({ parse: () => ({ ok: true, value: again }) }, given, ran);

test.each<[string, unknown]>([
  ['a default', { a: 1, b: 2 }],
  ['a converted value', { a: '1' }],
  ['an object without a class', Object.assign(Object.create(null), { a: 1, b: [{ c: null }] })],
  ['a list', [1, { a: 1 }]],
  ['a text', 'a'],
  ['nothing', null],
])('what a schema makes of the arguments is the action: %s', async (_what, ran) => {
  expect(await digest(ran)).toBe(digestOf(ran));
  expect(await digest(ran)).not.toBe(digestOf(given));
});

test.each<[string, unknown]>([
  ['the same', { a: 1 }],
  ['a map', new Map([['a', 1]])],
  ['a date', new Date(0)],
  ['a map in an object', { a: new Map() }],
  ['a map in a list', { a: [1, new Set()] }],
  ['a number too large for JSON', { a: 1n }],
  ['nothing that JSON has', undefined],
])('the arguments are the action where the schema makes %s', async (_what, ran) => {
  expect(await digest(ran)).toBe(digestOf(given));
});

test('the arguments are the action where the schema makes something else each time, or refuses them then', async () => {
  expect(await digest({ a: 1, at: 1 }, { a: 1, at: 2 })).toBe(digestOf(given));
  const refusing = { parse: () => ({ ok: false as const, problems: ['no'] }) };
  expect(await actionDigest(refusing, given, { a: 2 })).toBe(digestOf(given));
});

test('a schema that fills in the time is asked in another millisecond', async () => {
  const now = (): { at: number } => ({ at: Date.now() });
  const parse = () => ({ ok: true as const, value: now() });
  expect(await actionDigest({ parse }, given, now())).toBe(digestOf(given));
});
