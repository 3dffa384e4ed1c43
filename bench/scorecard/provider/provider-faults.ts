/** All rows of the provider section. */
import { fault } from '../../../testing/emulator/script';
import {
  failedOver,
  retried,
  spent,
  stoppedAtOnce,
  stoppedForAll,
  stoppedWhenSpent,
  unhurt,
  unreachable,
  done,
  corrected,
  declined,
  waited,
} from './fault-builders';
import type { ProviderFault } from './provider-fault';
import { reply } from '../../../testing/emulator/script';

const wires = ['anthropic', 'responses', 'chat'] as const;
/** All rows. */
export function providerFaults(): readonly ProviderFault[] {
  return [
    ...wires.flatMap((wire) => [
      retried('429 once', wire, fault.http(429), 'rate_limit'),
      spent('529 stays', wire, fault.http(529), 'overloaded'),
      failedOver('401', wire, fault.http(401), 'auth'),
      stoppedAtOnce('402 alone', wire, fault.http(402), 'billing'),
      stoppedForAll('400', wire, fault.http(400), 'format'),
      stoppedWhenSpent('500 alone', wire, fault.http(500), 'overloaded'),
      unhurt('crlf', wire, fault.crlf(done)),
      retried(
        'cut in arguments',
        wire,
        fault.cutStream({
          during: reply.toolCalls([{ name: 'note', input: { text: 'a long text' } }]),
          afterCharacters: 10,
        }),
        'network',
        { asksTool: 'whole' },
      ),
      unreachable('closed port', wire, 'closed-port', /ECONNREFUSED/, 'second route'),
      unreachable('tls', wire, 'tls-on-plain-port', /SSL|EPROTO|packet/, 'only route'),
      corrected(
        'max tokens in arguments',
        wire,
        reply.rawToolArguments('note', '{"text": "ha', { stop: 'max-tokens' }),
        { output_truncated: 1 },
        { asksTool: 'whole' },
      ),
      declined('refusal', wire, reply.refusal(), 'refusal', [/declined/]),
      waited('503', wire, fault.http(503), 'overloaded', {
        limits: {
          maxProviderWaitMs: 60_000,
          cooldownMs: {
            auth: 200,
            rate_limit: 200,
            billing: 200,
            timeout: 200,
            overloaded: 200,
            model_not_found: 200,
            format: 0,
            network: 200,
            context_overflow: 0,
            content_filter: 0,
            unknown: 200,
          },
        },
      }),
    ]),
  ];
}
