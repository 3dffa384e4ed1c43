/** Replies that arrive whole and are no success: cut at the token limit, refused, filtered, paused, empty, broken calls. */
import { fault, reply } from '../../../../testing/emulator/script';
import type { WireName } from '../../../../testing/emulator/wire';
import { corrected, declined, failedOver } from '../fault-builders';
import type { ProviderFault } from '../provider-fault';

const wires: readonly WireName[] = ['anthropic', 'responses', 'chat'];
const cutArguments = '{"text": "half a tho';
const tool = { asksTool: 'in smaller parts' };

function everywhere(): readonly ProviderFault[] {
  return wires.flatMap((wire) => [
    corrected(
      'token limit in mid-arguments',
      wire,
      reply.rawToolArguments('note', cutArguments, { stop: 'max-tokens' }),
      { output_truncated: 1 },
      tool,
    ),
    corrected(
      'token limit in mid-text',
      wire,
      reply.text('The answer is', { stop: 'max-tokens' }),
      { output_truncated: 1 },
    ),
    corrected('an empty reply', wire, reply.empty(), { empty_reply: 1 }),
    declined('refusal', wire, reply.refusal(), 'refusal', [/declined to answer/, /can't help/]),
  ]);
}

/** The Messages wire carries no broken JSON inside a finished block other than as text deltas. */
function brokenCalls(): readonly ProviderFault[] {
  return wires.flatMap((wire) => [
    corrected(
      'arguments sent twice, in pieces that are neither',
      wire,
      reply.rawToolArguments('note', '{"text":"abc"}{"text":"abc"}'),
      { invalid_json: 1 },
      tool,
    ),
    corrected(
      'arguments cut, told as whole',
      wire,
      reply.rawToolArguments('note', cutArguments),
      { invalid_json: 1 },
      tool,
    ),
    corrected(
      'arguments without a field',
      wire,
      reply.rawToolArguments('note', '{"words":"a"}'),
      { invalid_params: 1 },
      tool,
    ),
    corrected(
      'a tool that does not exist',
      wire,
      reply.toolCalls([{ name: 'remember', input: { text: 'a' } }]),
      { invalid_tool: 1 },
      tool,
    ),
  ]);
}

function particular(): readonly ProviderFault[] {
  return [
    corrected('pause_turn', 'anthropic', reply.text('So far', { stop: 'pause' }), {}),
    corrected(
      'model_context_window_exceeded',
      'anthropic',
      reply.rawToolArguments('note', cutArguments, { stop: 'context-window' }),
      { output_truncated: 1 },
      tool,
    ),
    failedOver(
      'content_filter in mid-text',
      'chat',
      reply.text('It begins', { stop: 'content-filter' }),
      'content_filter',
    ),
    failedOver(
      'incomplete by content_filter',
      'responses',
      reply.text('It begins', { stop: 'content-filter' }),
      'content_filter',
    ),
    declined(
      'refusal in mid-text',
      'anthropic',
      reply.text('It begins', { stop: 'refusal' }),
      'refusal',
      [/declined to answer/, /It begins/],
    ),
    failedOver(
      'content_filter in mid-arguments',
      'chat',
      reply.rawToolArguments('note', cutArguments, { stop: 'content-filter' }),
      'content_filter',
    ),
    declined('refusal without a word', 'anthropic', fault.crlf(reply.refusal('')), 'refusal', [
      /declined to answer/,
      /no reason/,
    ]),
  ];
}

/** Rows of this kind. */
export function replyFaults(): readonly ProviderFault[] {
  return [...everywhere(), ...brokenCalls(), ...particular()];
}
