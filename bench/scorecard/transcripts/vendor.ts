/** Each speaker's vendor: the real adapter on one side, the emulator's replies and strict checks on the other, without a socket. */
import { AnthropicReplyAssembly } from '../../../activities/providers/anthropic/reply';
import { anthropicRequest, promptPrefix } from '../../../activities/providers/anthropic/request';
import { chatDialects } from '../../../activities/providers/openai/chat-dialect';
import { ChatReplyAssembly } from '../../../activities/providers/openai/chat-reply';
import { chatRequest } from '../../../activities/providers/openai/chat-request';
import { ResponsesReplyAssembly } from '../../../activities/providers/openai/responses-reply';
import { responsesRequest } from '../../../activities/providers/openai/responses-request';
import type { ModelReply, ModelRequest } from '../../../activities/providers/provider';
import type { StreamAssembly } from '../../../activities/providers/stream/stream-assembly';
import { boundReply } from '../../../activities/providers/request/bound-prefix';
import { renderTextProtocolRequest } from '../../../activities/providers/request/text-tool-protocol';
import { anthropicWire } from '../../../testing/emulator/anthropic/anthropic-wire';
import { chatWire } from '../../../testing/emulator/openai-chat/chat-wire';
import { parseBody } from '../../../testing/emulator/http-intake';
import { responsesWire } from '../../../testing/emulator/openai-responses/responses-wire';
import type { ReplyPart } from '../../../testing/emulator/script';
import { reply as replies } from '../../../testing/emulator/script';
import { Seal } from '../../../testing/emulator/seal';
import type { Wire } from '../../../testing/emulator/wire';
import { noUsage } from '../../../workflows/core/budget/spend';
import type { Speaker } from './moves';

interface Voice {
  readonly wire: Wire;
  readonly vendor: string;
  readonly model: string;
  readonly body: (request: ModelRequest) => object;
  readonly assembly: () => StreamAssembly;
}

/** A budget of thoughts, within a limit that leaves room for the reply. */
const budget = {
  maxOutputTokens: 4_096,
  settings: { reasoning: { budgetTokens: 2_000 } },
} as const;

function claude(model: string, isBudgeted: boolean): Voice {
  const more = isBudgeted ? budget : {};
  return {
    wire: anthropicWire,
    vendor: 'anthropic',
    model,
    body: (request) => anthropicRequest({ ...request, ...more }, { vendor: 'anthropic' }),
    assembly: () => new AnthropicReplyAssembly('anthropic', model),
  };
}

function chat(model: string, toText: boolean): Voice {
  return {
    wire: chatWire,
    vendor: 'openai',
    model,
    body: (request) =>
      chatRequest(
        toText ? renderTextProtocolRequest(request) : request,
        'openai',
        chatDialects.openai,
      ),
    assembly: () => new ChatReplyAssembly('openai', model),
  };
}

const voices: Readonly<Record<Speaker, Voice>> = {
  preserving: claude('claude-opus-5-5', false),
  budgeted: claude('claude-sonnet-4-5', true),
  responses: {
    wire: responsesWire,
    vendor: 'openai',
    model: 'gpt-5',
    body: (request) => responsesRequest(request, 'openai'),
    assembly: () => new ResponsesReplyAssembly('openai', 'gpt-5'),
  },
  chat: chat('gpt-4.1', false),
  'text-protocol': chat('llama-4', true),
};

/** Name of the reasoning's vendor, and of the model. */
export function voiceOf(speaker: Speaker): { readonly vendor: string; readonly model: string } {
  return voices[speaker];
}

const headers = { 'anthropic-version': '2026-10-21' };

function sealOf({ wire }: Voice): Seal {
  return new Seal(`emulator/${wire.name}/`);
}

/** What the vendor says against a request; undefined where it takes it. */
export function refusalOf(speaker: Speaker, request: ModelRequest): string | undefined {
  const voice = voices[speaker];
  const { body, problem } = parseBody(JSON.stringify(voice.body(request)));
  if (problem !== undefined) return `not JSON: ${JSON.stringify(problem)}`;
  return voice.wire.refuseBody(body, { headers, seal: sealOf(voice) })?.message;
}

/** A reply as it arrives: rendered by the emulator, event by event, and gathered by the adapter. */
export function spoken(
  speaker: Speaker,
  request: ModelRequest,
  parts: readonly ReplyPart[],
  newId: (prefix: string) => string,
): ModelReply {
  const voice = voices[speaker];
  const { body } = parseBody(JSON.stringify(voice.body(request)));
  const assembly = voice.assembly();
  const hasCall = parts.some(({ type }) => type === 'tool-call');
  const frames = voice.wire.frames(replies.parts(parts, { stop: hasCall ? 'tool-use' : 'end' }), {
    model: voice.model,
    usage: noUsage,
    body,
    createdAtMs: 0,
    newId,
    seal: sealOf(voice),
  });
  for (const { text } of frames) {
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? '';
    if (data.startsWith('{')) assembly.accept(JSON.parse(data));
  }
  const made = assembly.reply();
  if (voice.wire.name !== 'anthropic') return made;
  return boundReply(made, request, () => promptPrefix(request, voice.vendor));
}
