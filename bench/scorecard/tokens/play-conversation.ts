/** Plays a conversation through the real adapter of a wire and sets each estimate against the bill. */
import { countOfCall, measureCall } from '../../../activities/measure/call-measure';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import type { ModelReply, Provider } from '../../../activities/providers/provider';
import type { VendorEmulator } from '../../../testing/emulator/emulator';
import type { ReplyPart } from '../../../testing/emulator/script';
import { reply } from '../../../testing/emulator/script';
import type { WireName } from '../../../testing/emulator/wire';
import type { Message } from '../../../workflows/core/message';
import type { CallModelInput } from '../../../workflows/core/model-call/ports';
import type { ConversationKind } from './conversation';
import { nextMessages } from './conversation';
import { Dice } from './dice';
import type { MaterialSource } from './materials';
import { conversationTools } from './tools';
import { vendorUsage } from './vendor-counting';

/** A model on its wire. */
export interface CountedModel {
  readonly wire: WireName;
  readonly model: string;
}

/** One call's estimate and bill. */
export interface CountedCall {
  /** From 1. */
  readonly call: number;
  readonly estimated: number;
  readonly billed: number;
}

/** Calls of one conversation. */
const calls = 12;

function providerOf(emulator: VendorEmulator, { wire }: CountedModel): Provider {
  const config = { apiKey: 'bench', baseUrl: emulator.baseUrl(wire) };
  return wire === 'anthropic'
    ? anthropicProvider(config)
    : openaiProvider({ ...config, api: wire });
}

/** What the model says and costs: a thought where the kind has them, some text, one to three calls. */
function scriptReplies(
  emulator: VendorEmulator,
  kind: ConversationKind,
  texts: MaterialSource,
  dice: Dice,
): void {
  emulator.clearScripts();
  emulator.script((request) => {
    const thoughts: readonly ReplyPart[] =
      kind === 'thoughts'
        ? [{ type: 'reasoning', text: texts.text('prose', 200 + dice.below(2_000), dice) }]
        : [];
    const toolCalls = Array.from({ length: 1 + dice.below(3) }, (): ReplyPart => ({
      type: 'tool-call',
      name: 'read_file',
      argumentsText: JSON.stringify({ path: `src/${dice.hex(6)}/index.ts`, from: dice.below(900) }),
    }));
    const text: ReplyPart = { type: 'text', text: texts.text('prose', 80 + dice.below(400), dice) };
    const parts = [...thoughts, text, ...toolCalls];
    return reply.parts(parts, { usage: vendorUsage(request, parts) });
  });
}

/** The reply as the transcript keeps it, with ids of our own. */
function keptMessage(provider: Provider, made: ModelReply, call: number): Message {
  return {
    role: 'assistant',
    vendor: provider.vendor,
    model: made.model,
    blocks: [
      ...made.blocks,
      ...made.toolCalls.map((each, index) => ({
        type: 'tool-call' as const,
        toolCallId: `bench_${call}_${index}`,
        name: each.name,
        input: JSON.parse(each.argumentsText) as Record<string, string | number>,
      })),
    ],
  };
}

/** Plays one conversation. Contract: the emulator is used by nobody else meanwhile. */
export async function playConversation(
  emulator: VendorEmulator,
  model: CountedModel,
  kind: ConversationKind,
  texts: MaterialSource,
  seed: string,
): Promise<readonly CountedCall[]> {
  const provider = providerOf(emulator, model);
  const dice = new Dice(`${seed}/${model.model}/${kind}`);
  scriptReplies(emulator, kind, texts, dice);
  const played: CountedCall[] = [];
  let messages: readonly Message[] = [];
  let openCallIds: readonly string[] = [];
  let learned: Pick<CallModelInput, 'counted' | 'tokenFactors'> = {};
  for (let call = 0; call < calls; call += 1) {
    messages = [...messages, ...nextMessages(kind, call, openCallIds, { texts, dice })];
    const note = dice.below(5) === 0 ? { note: texts.text('prose', 300, dice) } : {};
    const request = {
      model: model.model,
      system: texts.text('prose', 2_000, new Dice(seed)),
      messages,
      tools: conversationTools,
      maxOutputTokens: 4_096,
      ...note,
    };
    const measured = { request, route: `x/${model.model}`, provider, input: learned };
    const measure = measureCall(measured);
    const made = await provider.send(request, {
      signal: new AbortController().signal,
      firstByteMs: 30_000,
      betweenBytesMs: 30_000,
      onText: () => undefined,
    });
    const { usage } = made;
    const contextTokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
    const reply = { head: 'after', headBefore: 'before', usage, contextTokens };
    const { counted, tokenFactors } = countOfCall(measured, measure, reply);
    learned = {
      ...(counted === undefined ? {} : { counted }),
      ...(tokenFactors === undefined ? {} : { tokenFactors }),
    };
    const kept = keptMessage(provider, made, call);
    messages = [...messages, kept];
    openCallIds = made.toolCalls.map((_each, index) => `bench_${call}_${index}`);
    played.push({ call: call + 1, estimated: measure.tokens, billed: contextTokens });
  }
  return played;
}
