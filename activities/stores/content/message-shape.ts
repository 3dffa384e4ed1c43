/** Checks that stored JSON has the shape of messages: what another version wrote is refused, not guessed at. */
import { z } from 'zod';
import type { Message } from '../../../workflows/core/message';

const text = z.string();
const fields = z.record(text, z.unknown());

const stored = {
  ref: text,
  bytes: z.number(),
  name: text.exactOptional(),
  removed: z.literal(true).exactOptional(),
};

/** An image or a document. */
export const mediaShape = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('image'),
    mediaType: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
    ...stored,
    width: z.number(),
    height: z.number(),
  }),
  z.object({
    type: z.literal('file'),
    mediaType: z.literal('application/pdf'),
    ...stored,
    pages: z.number(),
  }),
]);

const userBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text }),
  mediaShape,
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
  media: z.array(mediaShape).optional(),
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
