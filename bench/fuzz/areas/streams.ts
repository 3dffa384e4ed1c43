/** Replies of a vendor, broken in their bytes and events, through the real adapters over HTTP. */
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import type { ModelReply, Provider } from '../../../activities/providers/provider';
import { InfraException } from '../../../activities/lifecycle/infra-exception';
import { anthropicWire } from '../../../testing/emulator/anthropic/anthropic-wire';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { chatWire } from '../../../testing/emulator/openai-chat/chat-wire';
import { responsesWire } from '../../../testing/emulator/openai-responses/responses-wire';
import { Seal } from '../../../testing/emulator/seal';
import type { ReplyStep } from '../../../testing/emulator/script';
import { fault, reply } from '../../../testing/emulator/script';
import type { Wire, WireName } from '../../../testing/emulator/wire';
import { noUsage } from '../../../workflows/core/budget/spend';
import type { Finding, FuzzArea, FuzzInput, OpenFuzzArea } from '../fuzz-area';
import { crashOf, hanging, settled } from '../fuzz-area';
import { cut, drawMutations, eventMutations, mutated } from '../mutations';
import { mayHaveSent, saysItIsWhole } from './stream-reference';

const wires: Readonly<Record<WireName, Wire>> = {
  anthropic: anthropicWire,
  responses: responsesWire,
  chat: chatWire,
};
const models: Readonly<Record<WireName, string>> = {
  anthropic: 'claude-sonnet-5',
  responses: 'gpt-5',
  chat: 'gpt-4.1',
};

/** What the whole replies say. */
const replies: readonly ReplyStep[] = [
  reply.text('The answer to it all is 42; nothing else was found. Ω — 世界'),
  reply.toolCalls([{ name: 'pay', input: { amount: 120, to: 'Ann' } }], { text: 'I pay.' }),
  reply.toolCalls([
    { name: 'pay', input: { amount: 1, to: 'Bob', note: 'a "quoted" \\ note\n' } },
    { name: 'pay', input: { amount: 9_999, to: 'Ωmega' } },
  ]),
  reply.toolCalls([{ name: 'pay', input: { amount: 5, to: 'Eve' } }], {
    reasoning: 'Eve is owed 5.',
  }),
];

function bytesOf(wire: WireName, step: ReplyStep): Buffer {
  let ids = 0;
  const frames = wires[wire].frames(step, {
    model: models[wire],
    usage: { ...noUsage, inputTokens: 20, outputTokens: 9 },
    body: {},
    createdAtMs: 1_700_000_000_000,
    newId: (prefix) => `${prefix}${String((ids += 1)).padStart(24, '0')}`,
    seal: new Seal('fuzz'),
  });
  return Buffer.from(frames.map(({ text }) => text).join(''));
}

function providerOn(wire: WireName, emulator: VendorEmulator): Provider {
  const account = { apiKey: 'fuzz', baseUrl: emulator.baseUrl(wire) };
  return wire === 'anthropic'
    ? anthropicProvider(account)
    : openaiProvider({ ...account, api: wire });
}

/** What of a reply a run acts on. */
function essence({ blocks, toolCalls, stopReason }: ModelReply): string {
  const texts = blocks.map((block) => (block.type === 'text' ? block.text : ''));
  const calls = toolCalls.map(({ name, argumentsText }) => [name, argumentsText]);
  return JSON.stringify([texts.join(''), calls, stopReason]);
}

/** Pieces as they arrive: the seed of the first mutation decides where they are parted. */
function piecesOf(bytes: Buffer, { mutations }: FuzzInput): readonly Buffer[] {
  const size = [1, 7, 64, 1_000][(mutations[0]?.name.length ?? 0) % 4] ?? 1;
  // Single bytes of a large stream would only measure the socket.
  const step = bytes.length > 20_000 ? 4_096 : size;
  const count = Math.max(1, Math.ceil(bytes.length / step));
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * step, (index + 1) * step),
  );
}

const request = {
  system: 'You pay.',
  messages: [{ role: 'user' as const, blocks: [{ type: 'text' as const, text: 'Pay.' }] }],
  tools: [
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: { type: 'object', properties: { amount: { type: 'number' } } },
    },
  ],
  maxOutputTokens: 1_024,
};

function runs(argumentsText: string): boolean {
  try {
    const value: unknown = JSON.parse(argumentsText);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** What is false about a reply that was taken for whole. */
function falseSuccess(
  wire: WireName,
  bytes: Buffer,
  taken: ModelReply,
  expected: string | undefined,
): Finding | undefined {
  const text = bytes.toString();
  if (!saysItIsWhole(wire, text))
    return { kind: 'false success', what: `taken without the closing event: ${essence(taken)}` };
  if (expected !== undefined && essence(taken) !== expected)
    return { kind: 'false success', what: `a cut reply was taken as ${essence(taken)}` };
  const invented = taken.toolCalls.find(
    ({ argumentsText }) => runs(argumentsText) && !mayHaveSent(wire, text, argumentsText),
  );
  return invented === undefined
    ? undefined
    : { kind: 'false success', what: `nobody sent the arguments ${invented.argumentsText}` };
}

async function open(wire: WireName): Promise<OpenFuzzArea> {
  const emulator = await VendorEmulator.start({ recordedBodyBytes: 0 });
  const provider = providerOn(wire, emulator);
  const bases = replies.map((step) => bytesOf(wire, step));
  const send = (pieces: readonly Buffer[]) => {
    emulator.script([fault.raw({ headers: { 'content-type': 'text/event-stream' }, pieces })]);
    return settled(
      provider.send(
        { ...request, model: models[wire] },
        {
          signal: AbortSignal.timeout(60_000),
          firstByteMs: 20_000,
          betweenBytesMs: 20_000,
          onText: () => undefined,
        },
      ),
    );
  };
  const whole = new Map<number, string>();
  for (const [base, bytes] of bases.entries()) {
    const ended = await send([bytes]);
    if (ended === 'hang' || 'thrown' in ended)
      throw new Error(`The whole ${wire} reply ${base} was not taken.`);
    whole.set(base, essence(ended.value));
  }
  return {
    draw: (random) => {
      const base = Math.floor(random() * bases.length);
      // A third are only cut, or only parted: there, what is right is known exactly.
      const kinds = random() < 0.33 ? [cut] : eventMutations;
      return { base, mutations: drawMutations(kinds, random) };
    },
    attempt: async (input) => {
      const bytes = mutated(bases[input.base] ?? Buffer.alloc(0), input.mutations);
      const ended = await send(piecesOf(bytes, input));
      if (ended === 'hang') return hanging;
      if ('thrown' in ended)
        return ended.thrown instanceof InfraException ? undefined : crashOf(ended.thrown);
      const isOnlyCut = input.mutations.every(({ name }) => name.startsWith('cut'));
      return falseSuccess(wire, bytes, ended.value, isOnlyCut ? whole.get(input.base) : undefined);
    },
    close: () => emulator.stop(),
  };
}

/** An area for each wire. */
export const streamAreas: readonly FuzzArea[] = (['anthropic', 'responses', 'chat'] as const).map(
  (wire) => ({
    name: `stream-${wire}`,
    about: `streamed replies on the ${wire} wire`,
    open: () => open(wire),
  }),
);
