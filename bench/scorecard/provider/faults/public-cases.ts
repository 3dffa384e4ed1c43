/** The public cases that concern one answer of a provider, each as a run sees it. */
import { corrected, declined, failedOver, retried } from '../fault-builders';
import type { ProviderFault } from '../provider-fault';
import { publicHttpAnswers as answers, publicStreams as streams } from '../public-answers';
import { rawHttp, rawSse } from '../recorded-answer';

/** Rows of this kind. */
export function publicCases(): readonly ProviderFault[] {
  return [
    failedOver('case billing-01', 'anthropic', rawHttp(answers['billing-01']), 'billing'),
    retried('case rate_limit-01', 'anthropic', rawHttp(answers['rate_limit-01']), 'rate_limit', {
      gapMs: 1_000,
    }),
    retried('case overloaded-01', 'anthropic', rawSse(streams['overloaded-01']), 'overloaded'),
    retried('case transport-01', 'anthropic', rawSse(streams['transport-01']), 'network', {
      forbids: ['big.ts'],
    }),
    retried('case stream_end-01', 'anthropic', rawSse(streams['stream_end-01']), 'network'),
    corrected(
      'case tool_call-01',
      'anthropic',
      rawSse(streams['tool_call-01']),
      { output_truncated: 1 },
      { asksTool: 'in smaller parts' },
    ),
    retried(
      'case context_overflow-01',
      'anthropic',
      rawHttp(answers['context_overflow-01']),
      'context_overflow',
      { maxOutputTokens: 64_000 },
    ),
    declined('case stop_reason-01', 'anthropic', rawSse(streams['stop_reason-01']), 'refusal', [
      /declined to answer/,
      /no reason/,
    ]),
    failedOver('case auth_model-01', 'chat', rawHttp(answers['auth_model-01']), 'auth', {
      forbids: ['Zt9Q', 'sk-proj-'],
    }),
  ];
}
