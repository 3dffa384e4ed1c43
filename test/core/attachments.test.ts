/** Attachments in the core: whatever is sent stays small and well formed, counts once, and waits within the bounds of texts. */
import {
  attachmentLabel,
  attachmentsOf,
  charsOf,
  readAttachments,
  said as saidWith,
  textOf,
  untakenProblem,
} from '../../workflows/core/attachments';
import { inboxChars, textsPerCallChars } from '../../workflows/core/limits';
import type { Attachment } from '../../workflows/core/message';
import { textsThatFit } from '../../workflows/core/model-call/request';
import { answerKey } from '../../workflows/core/people/state';
import { eventOfSignal } from '../../workflows/people-events';
import { aPreparedRun, takeAll } from '../support/builders';
import { cases, fc } from '../support/properties';

const image = (name: string, bytes = 1_000): Attachment => ({
  type: 'image',
  mediaType: 'image/png',
  ref: 'r'.repeat(43),
  bytes,
  name,
  width: 10,
  height: 10,
});
const pdf: Attachment = {
  type: 'file',
  mediaType: 'application/pdf',
  ref: 'p'.repeat(43),
  bytes: 9_000,
  pages: 2,
};

const fields = {
  type: fc.constantFrom('image', 'file', 'text', 7),
  mediaType: fc.oneof(fc.constantFrom('image/png', 'application/pdf', 'text/plain'), fc.string()),
  ref: fc.oneof(fc.constant('r'.repeat(43)), fc.string({ maxLength: 60 })),
  bytes: fc.oneof(fc.nat(), fc.double()),
  name: fc.string({ maxLength: 120 }),
  width: fc.oneof(fc.nat(), fc.constant('9')),
  height: fc.nat(),
  pages: fc.nat(),
  extra: fc.jsonValue(),
};
const attachmentLike = fc.record(fields, { requiredKeys: ['type', 'mediaType', 'ref', 'bytes'] });

test('whatever is received is attachments as they are stored, or nothing', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue(), fc.array(fc.oneof(attachmentLike, fc.jsonValue()))),
      (value) => {
        const read = readAttachments(value);
        if (read === undefined) return;
        expect(read.length).toBeLessThanOrEqual(20);
        expect(JSON.stringify(read).length).toBeLessThan(20 * 700 + 2);
        expect(JSON.parse(JSON.stringify(read))).toEqual(read);
        expect(JSON.stringify(read)).not.toContain('"extra"');
        expect(readAttachments(read)).toEqual(read);
      },
    ),
    cases(500),
  );
});

describe('an attachment', () => {
  const text = { type: 'file', mediaType: 'text/csv', ref: 't'.repeat(43), bytes: 0 };
  test.each<[string, object]>([
    ['an image', image('a.png', 0)],
    ['an image without a name', { ...image(''), name: undefined }],
    ['an image of no size', { ...image('a'), width: 0, height: 0 }],
    ['a webp image with a long name', { ...image('a'.repeat(100)), mediaType: 'image/webp' }],
    ['a document', { ...pdf, pages: 0 }],
    ['a text', text],
    [
      'a text of a type with a long name',
      { ...text, mediaType: `${'a'.repeat(60)}/b.c+d-${'e'.repeat(94)}` },
    ],
  ])('is taken: %s', (_, value) => {
    expect(readAttachments([value])).toHaveLength(1);
    expect(readAttachments([value, text, null])).toBeUndefined();
  });
  test.each<[string, unknown]>([
    ['nothing', null],
    ['a word', 'image'],
    ['a name of another type', { ...image('a'), name: 7 }],
    ['an object with a length as its name', { ...image('a'), name: { length: 1 } }],
    ['a name too long', image('a'.repeat(101))],
    ['a reference of another type', { ...pdf, ref: ['p'.repeat(43)] }],
    ['a short reference', { ...pdf, ref: 'p'.repeat(42) }],
    ['a long reference', { ...pdf, ref: 'p'.repeat(44) }],
    ['a reference in a path', { ...pdf, ref: `/${'p'.repeat(43)}` }],
    ['a reference with a slash behind it', { ...pdf, ref: `${'p'.repeat(43)}/` }],
    ['half a byte', { ...pdf, bytes: 0.5 }],
    ['fewer bytes than none', { ...pdf, bytes: -1 }],
    ['bytes in words', { ...pdf, bytes: '9' }],
    ['no type', { ...text, mediaType: undefined }],
    ['several types', { ...text, mediaType: ['text/csv'] }],
    ['half a type', { ...text, mediaType: 'text' }],
    ['a type behind a blank', { ...text, mediaType: ' text/csv' }],
    ['a type with a parameter', { ...text, mediaType: 'text/csv; a=b' }],
    ['an image of an unknown type', { ...image('a'), mediaType: 'image/tiff' }],
    ['an image without a width', { ...image('a'), width: undefined }],
    ['an image without a height', { ...image('a'), height: undefined }],
    ['a document without pages', { ...pdf, pages: undefined }],
    ['a text with pages', { ...text, pages: 1 }],
    ['a video', { ...pdf, type: 'video' }],
  ])('is not: %s', (_, value) => {
    expect(readAttachments([value])).toBeUndefined();
  });
  test('keeps nothing else, and twenty of them go with one text', () => {
    expect(readAttachments(undefined)).toEqual([]);
    expect(readAttachments({})).toBeUndefined();
    expect(readAttachments([{ ...pdf, extra: 1 }])).toEqual([pdf]);
    expect(readAttachments(Array.from({ length: 20 }, () => pdf))).toHaveLength(20);
    expect(readAttachments(Array.from({ length: 21 }, () => pdf))).toBeUndefined();
  });
});

test('a text without attachments is a mere text; a label counts from 1 and names the file, else its type', () => {
  expect(['a', saidWith('a', undefined), saidWith('a', [])]).toEqual(['a', 'a', 'a']);
  const withOne = saidWith('a', [pdf]);
  expect(withOne).toEqual({ text: 'a', attachments: [pdf] });
  expect([textOf('a'), textOf(withOne)]).toEqual(['a', 'a']);
  expect([attachmentsOf('a'), attachmentsOf(withOne)]).toEqual([[], [pdf]]);
  expect(attachmentLabel(image('a.png'), 0)).toBe('[image 1: a.png]');
  expect(attachmentLabel(pdf, 1)).toBe('[file 2: application/pdf]');
});

test('what travels through a signal is what was sent', () => {
  const argument = { text: 'See [image 1: a.png]', attachments: [image('a.png'), pdf] };
  expect(eventOfSignal('addMessage', argument)).toEqual({ type: 'message-added', ...argument });
  expect(eventOfSignal('addMessage', { text: 'x', attachments: [{}] })).toMatchObject({
    type: 'signal-dropped',
    problem: expect.stringContaining('AgentClient.upload') as string,
  });
});

test('a route takes what is small enough for it; one that does not say takes all', () => {
  const route = (media: object) => ({ provider: 'p', model: 'm', ...media });
  const small = route({ media: { image: 500 } });
  expect(untakenProblem([small], [image('a.png')])).toMatch(/"a\.png" has 1000 bytes.*at most 500/);
  expect(
    untakenProblem([small, route({ media: { image: 1_000 } })], [image('a.png')]),
  ).toBeUndefined();
  expect(untakenProblem([small], [pdf])).toMatch(
    /"application\/pdf": no model .* PDF documents \(p\/m\)/,
  );
  expect(untakenProblem([route({})], [pdf])).toBeUndefined();
  expect(untakenProblem([], [pdf])).toBeUndefined();
  const text = { ...pdf, mediaType: 'text/csv', pages: undefined } as unknown as Attachment;
  expect(untakenProblem([small], [text])).toBeUndefined();
});

test('attachments count where texts wait: a flood of them is refused, and a call carries some', () => {
  const many = Array.from({ length: 20 }, (_, index) => image(`${index}.png`));
  const said = { text: many.map(attachmentLabel).join('\n'), attachments: many };
  expect(charsOf(said)).toBeGreaterThan(8_000);
  const event = { type: 'message-added', ...said } as const;
  const [state] = takeAll(aPreparedRun(), ...Array.from({ length: 40 }, () => event));
  const waiting = state.inbox.reduce((chars, each) => chars + charsOf(each), 0);
  expect(waiting).toBeLessThanOrEqual(inboxChars);
  expect(state.lastError).toContain('payload_too_large');
  expect(textsThatFit(state.inbox)).toBe(Math.floor(textsPerCallChars / charsOf(said)));
});

test('the same words with another file are another answer', () => {
  const answer = { answer: 'This one: [image 1: a.png]' };
  const key = answerKey({ ...answer, attachments: [image('a.png')] });
  expect(answerKey({ ...answer, attachments: [image('a.png')] })).toBe(key);
  expect(answerKey({ ...answer, attachments: [pdf] })).not.toBe(key);
  expect(answerKey(answer)).not.toBe(key);
});
