/** Checks that stored JSON has the shape of messages: what another version wrote is refused, not guessed at. */
import { z } from 'zod';
import type { Message } from '../../../workflows/core/message';

const text = z.string();
const fields = z.record(text, z.unknown());

const image = z.object({ type: z.literal('image'), mediaType: text, data: text });

const userBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text }),
  image,
]);

const assistantBlock = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['text', 'refusal']), text }),
  z.object({ type: z.literal('reasoning'), vendor: text, text, opaque: fields.optional() }),
  z.object({ type: z.literal('vendor-block'), vendor: text, content: fields }),
  z.object({ type: z.literal('tool-call'), toolCallId: text, name: text, input: fields }),
]);

const toolResult = z.object({
  type: z.literal('tool-result'),
  toolCallId: text,
  name: text,
  content: text,
  isError: z.boolean(),
  blob: text.optional(),
  images: z.array(image).optional(),
});

const messages = z.array(
  z.discriminatedUnion('role', [
    z.object({
      role: z.literal('user'),
      blocks: z.array(userBlock),
      summary: text.optional(),
      refs: z.array(text).optional(),
    }),
    z.object({
      role: z.literal('assistant'),
      vendor: text,
      model: text,
      blocks: z.array(assistantBlock),
    }),
    z.object({ role: z.literal('tool'), results: z.array(toolResult) }),
  ]),
);

function isMessages(value: unknown): value is readonly Message[] {
  return messages.safeParse(value).success;
}

/** The messages in a node's JSON text; undefined if it is not JSON or not of their shape. */
export function parseMessages(json: string): readonly Message[] | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isMessages(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
