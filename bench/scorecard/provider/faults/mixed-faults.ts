/** Faults in combination and at the edges: several kinds in one call, both routes, the closing events, odd encodings. */
import type { FaultStep } from '../../../../testing/emulator/script';
import { fault, reply } from '../../../../testing/emulator/script';
import type { WireName } from '../../../../testing/emulator/wire';
import {
  asking,
  bothRefused,
  corrected,
  done,
  failedOver,
  retried,
  retriedThrough,
  stoppedWhenSpent,
  unhurt,
} from '../fault-builders';
import type { ProviderFault } from '../provider-fault';
import { rawBytes, rawHttp } from '../recorded-answer';

const wires: readonly WireName[] = ['anthropic', 'responses', 'chat'];
const input = 'a text of some length';
const charactersBeforeArguments = 'I note it.'.length + 'note'.length;

/** Half of the arguments, then a break: what came must never be glued to what comes next. */
function cutArguments(extraCharacters: number): FaultStep {
  return fault.cutStream({
    during: asking(input),
    afterCharacters: charactersBeforeArguments + extraCharacters,
  });
}

function combinations(): readonly ProviderFault[] {
  return wires.flatMap((wire) => [
    retriedThrough('overloaded, then limited', wire, [
      [fault.http(529), 'overloaded'],
      [fault.http(429, { error: { message: 'Slow down.' } }), 'rate_limit'],
    ]),
    retriedThrough(
      'arguments cut twice',
      wire,
      [
        [cutArguments(4), 'network'],
        [cutArguments(16), 'network'],
      ],
      { asksTool: input },
    ),
    retriedThrough(
      'cut, then silent',
      wire,
      [
        [cutArguments(8), 'network'],
        [fault.stall({ during: asking(input), afterCharacters: 12 }), 'timeout'],
      ],
      { asksTool: input, limits: { betweenBytesMs: 1_500 } },
    ),
    bothRefused(
      'wrong key here, no credit there',
      wire,
      [fault.http(401), 'auth'],
      [fault.http(402), 'billing'],
    ),
    stoppedWhenSpent(
      '500 with a body of 1 MB, only route',
      wire,
      rawHttp({ status: 500, body_text: { repeat: 'lorem ipsum ', times: 90_000 } }),
      'overloaded',
    ),
  ]);
}

/** A finished call beside a cut one: neither runs until both have come whole. */
function cutBesideFinished(wire: WireName): ProviderFault {
  const both = reply.toolCalls([
    { name: 'note', input: { text: 'one' } },
    { name: 'note', input: { text: input } },
  ]);
  const first = `note${JSON.stringify({ text: 'one' })}note`;
  const cut = fault.cutStream({ during: both, afterCharacters: first.length + 8, how: 'eof' });
  const row = retried('200, eof in the second of two calls', wire, cut, 'network');
  const needed = { faulty: 3, second: 0 };
  return { ...row, after: [both, done], needed, toolRuns: ['one', input] };
}

/** The model is cut at the token limit, and the vendor refuses the larger limit that is asked for then. */
function largerLimitRefused(wire: WireName): ProviderFault {
  const message =
    'max_tokens: 2048 > 1024, which is the maximum allowed number of output tokens for this model';
  const row = corrected(
    'larger output limit refused',
    wire,
    reply.text('The answer is', { stop: 'max-tokens' }),
    { output_truncated: 1 },
  );
  const faults = [...row.faults, fault.http(400, { error: { message } })];
  return { ...row, faults, needed: { faulty: 3, second: 0 } };
}

/** The same, told twice. */
function cutTwiceAtTheLimit(wire: WireName): ProviderFault {
  const row = corrected(
    'token limit twice',
    wire,
    reply.text('The answer is', { stop: 'max-tokens' }),
    { output_truncated: 1 },
  );
  return { ...row, faults: [...row.faults, ...row.faults], needed: { faulty: 3, second: 0 } };
}

/** What the vendor itself says about a retry, and the status that only its own lock explains. */
function retryAdvice(wire: WireName): readonly ProviderFault[] {
  const never = { headers: { 'x-should-retry': 'false' } };
  return [
    failedOver('529, x-should-retry false', wire, fault.http(529, never), 'overloaded'),
    retried(
      '409 conflict',
      wire,
      fault.http(409, { error: { message: 'Conflict' } }),
      'overloaded',
    ),
    retried('200 with a JSON overload', wire, fault.notSse(overloadBody), 'overloaded'),
    retried('200, bytes that are no text', wire, rawBytes(noText), 'network'),
    failedOver('429, bucket full in 10 min', wire, fault.http(429, farReset), 'rate_limit'),
  ];
}

const overloadBody = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
const noText = { chunks_hex: ['fffe80c3', '28a0a1', '0a0a'] };
const farReset = {
  error: { message: 'Slow down.' },
  headers: {
    'anthropic-ratelimit-tokens-remaining': '0',
    'anthropic-ratelimit-tokens-reset': '600s',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '10m0s',
  },
};

/** Events of `done` on each wire up to the last closing one: all of it has been said, and said to be whole. */
const eventsOfDone: Readonly<Record<WireName, number>> = { anthropic: 7, responses: 9, chat: 4 };

const lateErrors: Readonly<Record<WireName, string>> = {
  anthropic: 'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"x"}}\n\n',
  responses: 'event: error\ndata: {"type":"error","code":"server_error","message":"x"}\n\n',
  chat: 'data: {"error":{"message":"x","type":"server_error"}}\n\n',
};

/** After the vendor has said that the reply is whole, nothing that befalls the connection matters. */
function afterTheClosing(): readonly ProviderFault[] {
  return wires.flatMap((wire) => {
    const afterEvents = eventsOfDone[wire];
    return [
      unhurt('reset after the closing', wire, fault.cutStream({ during: done, afterEvents })),
      unhurt(
        'an error event after the closing',
        wire,
        fault.insert(lateErrors[wire], { during: done, afterEvents }),
      ),
      unhurt('silence after the closing', wire, fault.stall({ during: done, afterEvents })),
    ];
  });
}

/** The last content is out and its block is closed; only the word that the reply is whole is missing. */
function shortOfTheClosing(): readonly ProviderFault[] {
  const call = asking(input);
  const options = { asksTool: input };
  return [
    retried(
      '200, end before message_stop',
      'anthropic',
      fault.cutStream({ during: done, afterEvents: eventsOfDone.anthropic - 1, how: 'eof' }),
      'network',
    ),
    retried(
      '200, reset before finish_reason',
      'chat',
      fault.cutStream({ during: call, beforeClosing: true }),
      'network',
      options,
    ),
    retried(
      '200, reset before response.completed',
      'responses',
      fault.cutStream({ during: call, beforeClosing: true }),
      'network',
      options,
    ),
  ];
}

function chatChunk(choice: object): string {
  const chunk = { id: 'gen-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5' };
  return `data: ${JSON.stringify({ ...chunk, choices: [choice] })}\n\n`;
}

/** What gateways do to a stream. */
function gateways(): readonly ProviderFault[] {
  const lost = { code: 502, message: 'Provider disconnected' };
  const at = { afterText: 'The answer is' };
  const sse = { 'content-type': 'text/event-stream' };
  return [
    retried(
      '200, OpenRouter error in a choice',
      'chat',
      fault.insert(chatChunk({ index: 0, delta: {}, finish_reason: 'error', error: lost }), at),
      'overloaded',
    ),
    retried(
      '200, finish_reason error',
      'chat',
      fault.insert(chatChunk({ index: 0, delta: {}, finish_reason: 'error' }), at),
      'network',
    ),
    ...wires.flatMap((wire) => [
      retried(
        '200, gzip that is none',
        wire,
        rawHttp({
          status: 200,
          headers: { ...sse, 'content-encoding': 'gzip' },
          body_text: 'event: ping\ndata: {}\n\n',
        }),
        'network',
      ),
      retried(
        '200, a web page as a stream',
        wire,
        rawHttp({ status: 200, headers: sse, body_text: '<html><title>502</title></html>' }),
        'network',
      ),
      failedOver(
        '403 without a body',
        wire,
        rawHttp({ status: 403, headers: {}, body_text: '' }),
        'auth',
      ),
      unhurt(
        'a reply of one character at a time',
        wire,
        reply.text('done', { charactersPerDelta: 1 }),
      ),
    ]),
  ];
}

/** Rows of this kind. */
export function mixedFaults(): readonly ProviderFault[] {
  return [
    ...wires.flatMap((wire) => [
      cutBesideFinished(wire),
      largerLimitRefused(wire),
      cutTwiceAtTheLimit(wire),
      ...retryAdvice(wire),
    ]),
    ...combinations(),
    ...afterTheClosing(),
    ...shortOfTheClosing(),
    ...gateways(),
  ];
}
