/** The public failure cases that concern a provider (test/fixtures/cases), each through the real adapter and SDK. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import { providerFailure } from '../../activities/providers/failure/provider-failure';
import type { ModelReply, Provider } from '../../activities/providers/provider';
import { repairTranscript } from '../../activities/providers/request/transcript-repair';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply, type FaultStep } from '../../testing/emulator/script';
import type { WireName } from '../../testing/emulator/wire';
import type { InfraError } from '../../workflows/core/failure';
import type { JsonValue } from '../../workflows/core/json';
import type { Message } from '../../workflows/core/message';
import { models, providerOn, requestFor, sendOptions, userMessage } from './support/provider-bench';

interface HttpInput {
  readonly type: 'http';
  readonly api: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  readonly body_text?: string;
}

interface SseInput {
  readonly type: 'sse';
  readonly api: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly events: readonly (string | { readonly wait_ms: number })[];
  readonly end: 'eof' | 'reset' | 'error' | 'stall';
  readonly ping_every_ms?: number;
}

interface Case {
  readonly id: string;
  readonly kind: string;
  readonly input: HttpInput | SseInput | { readonly type: 'other' };
  readonly expect: {
    readonly reason?: string;
    readonly reason_also_ok?: readonly string[];
    readonly checks: {
      readonly delay_ms?: { readonly min: number; readonly max: number };
      readonly forbid?: readonly string[];
    };
  };
}

const cases = readFileSync(join(__dirname, '..', 'fixtures', 'cases', 'cases.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);

const byId = (id: string): Case => {
  const found = cases.find((each) => each.id === id);
  if (found === undefined) throw new Error(`no case ${id}`);
  return found;
};

const wireOf: Readonly<Record<string, WireName>> = {
  messages: 'anthropic',
  responses: 'responses',
  chat_completions: 'chat',
};

function stepOf(input: HttpInput | SseInput): FaultStep {
  if (input.type === 'http') {
    return fault.http(input.status, {
      headers: input.headers,
      ...(input.body === undefined ? {} : { body: input.body }),
      ...(input.body_text === undefined ? {} : { bodyText: input.body_text }),
    });
  }
  return fault.raw({
    headers: input.headers,
    pieces: input.events.map((event) =>
      typeof event === 'string' ? `${event}\n\n` : { waitMs: event.wait_ms },
    ),
    // `error` is what the iterator throws when the peer closes the socket.
    end: input.end === 'error' ? 'fin' : input.end,
    ...(input.ping_every_ms === undefined ? {} : { pingEveryMs: input.ping_every_ms }),
  });
}

let emulator: VendorEmulator;
beforeEach(async () => {
  emulator = await VendorEmulator.start();
});
afterEach(async () => {
  await emulator.stop();
});

async function play(
  each: Case,
): Promise<{ failure?: InfraError; reply?: ModelReply; text: string }> {
  const { input } = each;
  if (input.type === 'other') throw new Error(`case ${each.id} has no answer to play`);
  const wire = wireOf[input.api] ?? 'anthropic';
  emulator.script([stepOf(input)]);
  const pieces: string[] = [];
  const options = sendOptions({ betweenBytesMs: 2_000, onText: (text) => pieces.push(text) });
  const provider: Provider = providerOn(emulator, wire);
  try {
    const got = await provider.send(requestFor(wire), options);
    return { reply: got, text: pieces.join('') };
  } catch (thrown) {
    if (!(thrown instanceof InfraException)) throw thrown;
    return { failure: thrown.failure, text: pieces.join('') };
  }
}

const failing = cases.filter(
  ({ input, id }) =>
    (input.type === 'http' || input.type === 'sse') &&
    !['tool_call-01', 'stop_reason-01'].includes(id),
);

describe('a public case', () => {
  it('is not missing', () => {
    expect(cases).toHaveLength(16);
    expect(failing.map(({ id }) => id)).toEqual([
      'billing-01',
      'rate_limit-01',
      'overloaded-01',
      'transport-01',
      'stream_end-01',
      'context_overflow-01',
      'auth_model-01',
    ]);
  });

  it.each(failing)('$id is a failure of its own reason, after one request', async (each) => {
    const { failure, reply: got } = await play(each);
    expect(got).toBeUndefined();
    expect([each.expect.reason, ...(each.expect.reason_also_ok ?? [])]).toContain(failure?.code);
    expect(failure?.code).toBe(each.expect.reason);
    expect(emulator.requests).toHaveLength(1);
    for (const forbidden of each.expect.checks.forbid ?? []) {
      expect(JSON.stringify(failure)).not.toContain(forbidden);
    }
    const delay = each.expect.checks.delay_ms;
    if (delay !== undefined) {
      expect(failure?.retryAfterMs).toBeGreaterThanOrEqual(delay.min);
      expect(failure?.retryAfterMs).toBeLessThanOrEqual(delay.max);
    }
  });

  it('rate_limit-01 waits for the exhausted bucket, not for the other', async () => {
    expect((await play(byId('rate_limit-01'))).failure?.retryAfterMs).toBe(1_000);
  });

  it('tool_call-01: a call cut at the token limit is truncated, its arguments unmended', async () => {
    const { reply: got } = await play(byId('tool_call-01'));
    expect(got).toMatchObject({
      stopReason: 'truncated',
      toolCalls: [{ name: 'write_long_text', argumentsText: '{"title": "example with retry"' }],
    });
  });

  it('stop_reason-01: a refusal is a refusal, not an empty success', async () => {
    const { reply: got } = await play(byId('stop_reason-01'));
    expect(got).toMatchObject({ stopReason: 'refusal', blocks: [], toolCalls: [] });
  });

  it('transport-01: nothing of the half tool call comes out', async () => {
    const { reply: got, failure } = await play(byId('transport-01'));
    expect(got).toBeUndefined();
    expect(JSON.stringify(failure)).not.toContain('big.ts');
  });

  it('history_pairing-01: every id is answered, whatever happened to its siblings', async () => {
    const call = (toolCallId: string) =>
      ({ type: 'tool-call', toolCallId, name: 'read_file', input: {} }) as const;
    const messages: readonly Message[] = [
      userMessage('go'),
      {
        role: 'assistant',
        vendor: 'openai',
        model: models.chat,
        blocks: [call('call_ok'), call('call_throws'), call('call_nosuch')],
      },
      {
        role: 'tool',
        results: [
          {
            type: 'tool-result',
            toolCallId: 'call_ok',
            name: 'read_file',
            content: 'good',
            isError: false,
          },
        ],
      },
      userMessage('and?'),
    ];
    emulator.script([reply.text('ok')]);
    await providerOn(emulator, 'chat').send(requestFor('chat', { messages }), sendOptions());
    const ids = emulator.requests[0]?.toolResults.map((each) => each.id);
    expect(ids).toEqual(['call_ok', 'call_throws', 'call_nosuch']);
    expect(emulator.requests[0]?.toolResults[0]?.content).toBe('good');
  });

  it('provider_switch-01: foreign thinking is dropped before it is sent', async () => {
    const messages: readonly Message[] = [
      userMessage('hi'),
      {
        role: 'assistant',
        vendor: 'openai-compatible',
        model: 'other',
        blocks: [
          {
            type: 'reasoning',
            vendor: 'openai-compatible',
            text: 'The user greets.',
            opaque: { signature: 'reasoning_content' },
          },
          { type: 'text', text: 'Hello' },
        ],
      },
      userMessage('now list the files'),
    ];
    emulator.script([reply.text('ok')]);
    await providerOn(emulator, 'anthropic').send(
      requestFor('anthropic', { messages }),
      sendOptions(),
    );
    expect(JSON.stringify(emulator.requests[0]?.body)).not.toMatch(/thinking|reasoning_content/);
  });

  it('content_hygiene-01: a lone surrogate is replaced, a whole emoji stays', () => {
    const repaired = repairTranscript([userMessage('build ok \ud83d and 👋')]);
    expect(JSON.stringify(repaired)).toContain('build ok \ufffd and 👋');
  });

  it('durability-01: a cause chain is sorted while it is whole, with its delay', () => {
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    const thrown = Object.assign(new Error('Connection error.'), {
      status: null,
      headers: { 'retry-after': '7' },
      cause: Object.assign(new TypeError('fetch failed'), { cause: reset }),
    });
    const failure = providerFailure(thrown, { route: 'a/b', nowMs: 0 });
    expect(failure).toMatchObject({ code: 'network', retryAfterMs: 7_000 });
    expect(failure).not.toHaveProperty('headers');
  });
});
