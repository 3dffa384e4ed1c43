/** Every way in which an answer can break, on each wire, through the real SDKs: never a success, never a second request. */
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply, type ReplyPart, type Step } from '../../testing/emulator/script';
import type { ModelReply } from '../../activities/providers/provider';
import { defined } from '../../workflows/core/json';
import type { FailoverReason } from '../../workflows/core/limits';
import {
  failureOf,
  models,
  providerOn,
  requestFor,
  sendOptions,
  testKey,
  textOf,
  userMessage,
  wires,
} from './support/provider-bench';

let emulator: VendorEmulator;
beforeEach(async () => {
  emulator = await VendorEmulator.start();
});
afterEach(async () => {
  await emulator.stop();
});

const call = reply.toolCalls([{ name: 'read_file', input: { path: 'a/long/path.txt' } }]);

const broken: readonly (readonly [string, Step, FailoverReason])[] = [
  ['a reset before the headers', fault.connection('reset'), 'network'],
  ['a FIN before the headers', fault.connection('fin'), 'network'],
  ['a reset after the headers', fault.connection('reset', 'after-headers'), 'network'],
  ['a clean end after the headers', fault.connection('eof', 'after-headers'), 'network'],
  ['a 200 without events', fault.emptyBody(), 'network'],
  ['a reset in mid-stream', fault.cutStream({ afterText: 'The answer' }), 'network'],
  ['a FIN in mid-stream', fault.cutStream({ afterText: 'The answer', how: 'fin' }), 'network'],
  ['a clean end in mid-stream', fault.cutStream({ afterText: 'The', how: 'eof' }), 'network'],
  [
    'a cut inside tool arguments',
    fault.cutStream({ during: call, afterCharacters: 9, how: 'eof' }),
    'network',
  ],
  ['all content but no closing event', fault.missingEnd(call), 'network'],
  ['a data line that is no JSON', fault.malformedData({ afterText: 'The' }), 'network'],
  ['an overload inside the stream', fault.overloadedInStream({ afterText: 'The' }), 'overloaded'],
  ['an overload as the first event', fault.overloadedInStream({ afterEvents: 0 }), 'overloaded'],
  [
    'a rate limit inside the stream',
    fault.errorInStream({ status: 429 }, { afterText: 'a' }),
    'rate_limit',
  ],
  [
    'a server error inside the stream',
    fault.errorInStream({ status: 500 }, { afterText: 'a' }),
    'overloaded',
  ],
  [
    'a 200 that is a web page',
    fault.notSse('<!doctype html><html><title>Hi</title></html>'),
    'network',
  ],
  [
    'a 200 that is a JSON error',
    fault.notSse({ error: { type: 'rate_limit_error', message: 'Slow down' } }),
    'rate_limit',
  ],
  ['a 200 that is a foreign JSON', fault.notSse({ hello: 'world' }), 'network'],
  ['a 429', fault.http(429, { headers: { 'retry-after': '7' } }), 'rate_limit'],
  ['a 529', fault.http(529), 'overloaded'],
  ['a 401', fault.http(401), 'auth'],
  ['a 403', fault.http(403), 'auth'],
  ['a 404', fault.http(404), 'model_not_found'],
  ['a 413', fault.http(413), 'context_overflow'],
  ['a 500', fault.http(500), 'overloaded'],
  [
    'a 502 web page',
    fault.http(502, { bodyText: '<html><h1>502 Bad Gateway</h1>nginx</html>' }),
    'overloaded',
  ],
  ['a 504', fault.http(504), 'timeout'],
  ['a 408', fault.http(408), 'timeout'],
  ['a 400', fault.http(400), 'format'],
];

describe.each(wires)('on the wire %s', (wire) => {
  const short = requestFor(wire);
  // So long that it is sent as a stream.
  const long = requestFor(wire, { messages: [userMessage('Look. '.repeat(50_000))] });
  const cases = broken.flatMap(([name, step, reason]) => [
    { name, asked: 'a short', request: short, step, reason },
    { name, asked: 'a long', request: long, step, reason },
  ]);

  it.each(cases)('$name to $asked request is a failure and one request', async (each) => {
    const { request, step, reason } = each;
    emulator.script([step]);
    const failure = await failureOf(providerOn(emulator, wire).send(request, sendOptions()));
    expect(failure.code).toBe(reason);
    expect(failure.route).toBe(`${wire === 'anthropic' ? 'anthropic' : 'openai'}/${models[wire]}`);
    expect(failure.message.length).toBeLessThanOrEqual(500);
    expect(failure.message).not.toContain(testKey);
    expect(failure.message).not.toContain('<');
    expect(emulator.requests).toHaveLength(1);
  });

  it('tells the delay of Retry-After', async () => {
    emulator.script([fault.http(429, { headers: { 'retry-after': '7' } })]);
    const failure = await failureOf(
      providerOn(emulator, wire).send(requestFor(wire), sendOptions()),
    );
    expect(failure).toMatchObject({ retryAfterMs: 7_000, status: 429 });
  });

  it.each([
    ['before the headers', fault.connection('stall'), 'no byte of an answer', { firstByteMs: 300 }],
    [
      'after the headers',
      fault.connection('stall', 'after-headers'),
      'no byte of an answer',
      { firstByteMs: 300 },
    ],
    ['in mid-stream', fault.stall({ afterText: 'The' }), 'no byte for', { betweenBytesMs: 300 }],
    [
      'in mid-stream, with pings',
      fault.stall({ afterText: 'The', pingEveryMs: 20 }),
      'no piece of content',
      { betweenBytesMs: 250, thinkingMs: 300 },
    ],
    [
      'at the start, with pings',
      fault.stall({ pingEveryMs: 20 }),
      'no piece of content',
      { betweenBytesMs: 250, thinkingMs: 300 },
    ],
  ])('a stall %s ends by its deadline', async (_name, step, words, limits) => {
    emulator.script([step]);
    const failure = await failureOf(
      providerOn(emulator, wire).send(requestFor(wire), sendOptions(limits)),
    );
    expect(failure.code).toBe('timeout');
    expect(failure.message).toContain(words);
    // What cost the whole time of a thought is not waited for again on the same route.
    expect(failure.refusesRetry === true).toBe(words === 'no piece of content');
  });

  it('lets a model take its time while content still comes', async () => {
    emulator.script([
      fault.drip(
        1_500,
        20,
        reply.text('a long and honest thought of some length', { charactersPerDelta: 4 }),
      ),
    ]);
    const drip = providerOn(emulator, wire).send(
      requestFor(wire),
      sendOptions({ firstByteMs: 5_000, betweenBytesMs: 5_000 }),
    );
    expect(textOf(await drip)).toBe('a long and honest thought of some length');
  });

  it.each([
    ['before the headers', fault.connection('stall')],
    ['in mid-stream', fault.stall({ afterText: 'The' })],
  ])("rejects at once with the signal's reason when it is aborted %s", async (_name, step) => {
    emulator.script([step]);
    const controller = new AbortController();
    const reason = new Error('the person stopped it');
    const sent = providerOn(emulator, wire).send(
      requestFor(wire),
      sendOptions({ signal: controller.signal }),
    );
    await emulator.waitFor(({ requests }) => requests[0]?.progress.landed === true);
    controller.abort(reason);
    await expect(sent).rejects.toBe(reason);
    await emulator.waitFor(({ requests }) => requests[0]?.progress.finished === true);
  });

  it('sends nothing when it is aborted before', async () => {
    const reason = new Error('too late');
    const sent = providerOn(emulator, wire).send(
      requestFor(wire),
      sendOptions({ signal: AbortSignal.abort(reason) }),
    );
    await expect(sent).rejects.toBe(reason);
    expect(emulator.requests).toHaveLength(0);
  });
});

/** A thought of which nothing is said but its seal; then the events until it has begun, and until it has ended. */
describe.each<readonly ['anthropic' | 'responses', ReplyPart, number, number]>([
  ['anthropic', { type: 'reasoning', text: '' }, 3, 5],
  ['responses', { type: 'reasoning', text: 'hm', redacted: true }, 3, 4],
])('a silent thought on the wire %s', (wire, thought, begun, over) => {
  const send = (afterEvents: number, pingEveryMs?: number): Promise<ModelReply> => {
    const during = reply.parts([thought, { type: 'text', text: 'done' }]);
    emulator.script([fault.pause(800, { during, afterEvents, ...defined({ pingEveryMs }) })]);
    return providerOn(emulator, wire).send(
      requestFor(wire),
      sendOptions({ betweenBytesMs: 250, thinkingMs: 10_000 }),
    );
  };

  it.each([50, undefined])('may take its time, with pings or without (%p)', async (pingEveryMs) => {
    expect(textOf(await send(begun, pingEveryMs))).toBe('done');
  });

  it('gives no more time to silence behind it', async () => {
    expect(await failureOf(send(over))).toMatchObject({ code: 'timeout' });
  });
});

describe('classifyError', () => {
  it.each([undefined, null, 0, '', 'boom', {}, [], Symbol('x'), new Error('boom'), () => 1])(
    'sorts any value without a throw (%#)',
    (thrown) => {
      for (const wire of wires) {
        expect(providerOn(emulator, wire).classifyError(thrown)).toMatchObject({
          kind: 'infra',
          code: 'unknown',
        });
      }
    },
  );
});
