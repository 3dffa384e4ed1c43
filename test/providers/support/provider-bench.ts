/** One provider per wire on an emulator, and requests with valid defaults. */
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import type {
  ModelReply,
  ModelRequest,
  Provider,
  SendOptions,
} from '../../../activities/providers/provider';
import { InfraException } from '../../../activities/lifecycle/infra-exception';
import type { VendorEmulator } from '../../../testing/emulator/emulator';
import type { FaultStep } from '../../../testing/emulator/script';
import { fault } from '../../../testing/emulator/script';
import type { WireName } from '../../../testing/emulator/wire';
import type { InfraError } from '../../../workflows/core/failure';
import type { Message } from '../../../workflows/core/message';

export const wires: readonly WireName[] = ['anthropic', 'responses', 'chat'];

export const testKey = 'sk-test-0123456789abcdef';

export const models: Readonly<Record<WireName, string>> = {
  anthropic: 'claude-opus-5-5',
  responses: 'gpt-5',
  chat: 'gpt-4.1',
};

/** The real adapter of a wire, pointed at the emulator. */
export function providerOn(emulator: VendorEmulator, wire: WireName): Provider {
  const baseUrl = emulator.baseUrl(wire);
  return wire === 'anthropic'
    ? anthropicProvider({ apiKey: testKey, baseUrl })
    : openaiProvider({ api: wire, apiKey: testKey, baseUrl });
}

/** A user message of one text. */
export function userMessage(text: string): Message {
  return { role: 'user', blocks: [{ type: 'text', text }] };
}

/** A request with valid defaults. */
export function requestFor(wire: WireName, overrides: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: models[wire],
    system: 'You repair projects.',
    messages: [userMessage('Read a.txt')],
    tools: [
      {
        name: 'read_file',
        description: 'Reads a file.',
        inputSchema: {
          type: 'object',
          properties: { path: { type: 'string' } },
          required: ['path'],
        },
      },
    ],
    maxOutputTokens: 1_024,
    ...overrides,
  };
}

/** Options with limits that no test waits for. */
export function sendOptions(overrides: Partial<SendOptions> = {}): SendOptions {
  return {
    signal: new AbortController().signal,
    firstByteMs: 30_000,
    betweenBytesMs: 30_000,
    onText: () => undefined,
    ...overrides,
  };
}

/** The failure that a send must reject with. */
export async function failureOf(sent: Promise<ModelReply>): Promise<InfraError> {
  const outcome = await sent.then(
    (reply) => ({ reply }),
    (thrown: unknown) => ({ thrown }),
  );
  if ('thrown' in outcome && outcome.thrown instanceof InfraException)
    return outcome.thrown.failure;
  throw new Error(`expected an InfraException, got ${JSON.stringify(outcome)}`);
}

/** Text of a reply's text blocks. */
export function textOf(reply: ModelReply): string {
  return reply.blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

/** A whole stream of these data lines, as they are or as JSON, without what the emulator would add. */
export function rawStream(...data: readonly unknown[]): FaultStep {
  return endedStream('eof', ...data);
}

/** The same with another end. */
export function endedStream(
  end: 'eof' | 'reset' | 'stall',
  ...data: readonly unknown[]
): FaultStep {
  return fault.raw({
    headers: { 'content-type': 'text/event-stream' },
    pieces: data.map(
      (each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`,
    ),
    end,
  });
}
