/** Attachments in the core: whatever is sent stays small and well formed, counts once, and waits within the bounds of texts. */
import {
  attachmentLabel,
  charsOf,
  readAttachments,
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
