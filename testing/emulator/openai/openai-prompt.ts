/** The prompt of both OpenAI wires in the order in which the vendor caches it. */
import type { JsonObject } from '../../../workflows/core/json';
import { blocksOf, listOf, objectOf } from '../json-read';
import type { PromptBlock } from '../wire';

/** Tokens that an image or a file costs here (OpenAI's documented price of one high-detail 512 px square plus base: 170 + 85). */
const mediaTokens = 255;

/** Types of parts with bytes, on both wires. */
const mediaTypes: readonly unknown[] = ['image_url', 'input_image', 'file', 'input_file'];

/** True for a message or item that instructs the model. */
export function isInstruction({ role }: JsonObject): boolean {
  return role === 'system' || role === 'developer';
}

/** The tools, which come first. */
export function toolBlocks(body: JsonObject): readonly PromptBlock[] {
  return listOf(body['tools'])
    .map(objectOf)
    .map((tool) => ({
      text: `tool:${JSON.stringify(tool)}`,
      extraTokens: 0,
      breakpoint: false,
    }));
}

/** Messages or items. */
export function messageBlocks(messages: readonly JsonObject[]): readonly PromptBlock[] {
  return messages.map((message) => {
    const media = blocksOf(message['content']).filter(({ type }) => mediaTypes.includes(type));
    const extraTokens = mediaTokens * media.length;
    return { text: JSON.stringify(message), extraTokens, breakpoint: false };
  });
}
