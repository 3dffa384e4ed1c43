/** Answers that are odd, but real: what proxies, routers and compatible servers were seen to send. */
import { presetProvider } from '../../activities/providers/presets';
import type { ModelReply, Provider } from '../../activities/providers/provider';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault } from '../../testing/emulator/script';
import {
  failureOf,
  providerOn,
  rawStream,
  requestFor,
  sendOptions,
  wires,
} from './support/provider-bench';
import { providerFailure } from '../../activities/providers/failure/provider-failure';

let emulator: VendorEmulator;
let provider: Provider;
beforeEach(async () => {
  emulator = await VendorEmulator.start();
  provider = presetProvider('vllm', { baseUrl: emulator.baseUrl('chat') });
});
afterEach(async () => {
  await emulator.stop();
});

const replyTo = (...chunks: readonly object[]): Promise<ModelReply> => {
  emulator.script([rawStream(...chunks)]);
  return provider.send(requestFor('chat', { model: 'm' }), sendOptions());
};

const choice = (value: object): object => ({ id: 'c', model: 'm', choices: [value] });

describe('a proxy that requires a login', () => {
  it.each(wires)('is named on the wire %s, and is not taken for a broken network', async (wire) => {
    emulator.script([fault.http(407, { headers: { 'proxy-authenticate': 'Basic realm="corp"' } })]);
    const sent = providerOn(emulator, wire).send(requestFor(wire), sendOptions());
    const failure = await failureOf(sent);
    expect(failure).toMatchObject({ code: 'auth', status: 407 });
    expect(failure.message).toMatch(/^The proxy for \S+ requires a login \(HTTP 407\)/);
  });

  it.each([
    [407, 'requires a login'],
    [403, 'does not let the request pass'],
  ])('refuses a tunnel with %d', (status, words) => {
    const tunnel = new Error(`Proxy response (${status}) !== 200 when HTTP Tunneling`);
    const thrown = new Error('Connection error.', {
      cause: new TypeError('fetch failed', { cause: tunnel }),
    });
    const failure = providerFailure(thrown, { route: 'a/b', nowMs: 0 });
    expect(failure).toMatchObject({ code: 'auth', status });
    expect(failure.message).toContain(words);
  });

  it('is not blamed for a tunnel that its own network breaks', () => {
    const thrown = new Error('Proxy response (502) !== 200 when HTTP Tunneling', {
      cause: Object.assign(new Error('x'), { code: 'UND_ERR_ABORTED' }),
    });
    expect(providerFailure(thrown, { route: 'a/b', nowMs: 0 }).code).toBe('network');
  });
});

describe('a reply whose tool call the vendor could not read', () => {
  it.each<readonly [string, object, string]>([
    [
      'behind its filter',
      { finish_reason: 'function_call_filter: MALFORMED_FUNCTION_CALL' },
      'invalid_json',
    ],
    ['in its own word', { finish_reason: 'MALFORMED_FUNCTION_CALL' }, 'invalid_json'],
    [
      'as a tool that it does not know',
      { finish_reason: 'function_call_filter: UNEXPECTED_TOOL_CALL' },
      'invalid_tool',
    ],
    [
      'through a router',
      { finish_reason: 'error', native_finish_reason: 'MALFORMED_FUNCTION_CALL' },
      'invalid_json',
    ],
  ])('%s is a mistake of the model and no answer', async (_name, end, code) => {
    const got = await replyTo(
      choice({ index: 0, delta: { content: 'I will edit the file now.' } }),
      choice({ index: 0, delta: {}, ...end }),
    );
    expect(got.mistake).toMatchObject({ code });
  });
});

describe('a tool call for which the vendor refuses the whole request', () => {
  const error = {
    message: 'Failed to call a function. Please adjust your prompt.',
    type: 'invalid_request_error',
    code: 'tool_use_failed',
    failed_generation: '<function=read_file{"path": </function>',
  };

  it('is a mistake of the model, which reads how it began', async () => {
    emulator.script([fault.http(400, { body: { error } })]);
    const got = await provider.send(requestFor('chat', { model: 'x/m' }), sendOptions());
    expect(got).toMatchObject({ model: 'x/m', blocks: [], toolCalls: [], stopReason: 'tool-use' });
    expect(got.mistake?.code).toBe('invalid_json');
    expect(got.mistake?.message).toContain('<function=read_file');
  });

  it('is one inside a stream as well', async () => {
    const got = await replyTo(choice({ index: 0, delta: { content: 'I will' } }), {
      error: { ...error, status_code: 400 },
    });
    expect(got.mistake?.code).toBe('invalid_json');
  });
});

describe('a reply that a filter stopped', () => {
  it.each(['content_filter: RECITATION', 'content_filter: PROHIBITED_CONTENT', 'SPII'])(
    'in the words %s is filtered',
    async (word) => {
      const got = await replyTo(choice({ index: 0, delta: { content: 'x' }, finish_reason: word }));
      expect(got.stopReason).toBe('filtered');
    },
  );
});
