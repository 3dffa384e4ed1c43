/** The prompt of both OpenAI wires in the order in which the vendor caches it. */
import type { JsonObject } from '../../../workflows/core/json';
import { blocksOf, listOf, objectOf } from '../json-read';
import type { PromptBlock } from '../wire';

/** Tokens that an image costs here (OpenAI's documented price of one high-detail 512 px square plus base: 170 + 85). */
const imageTokens = 255;

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

/** Messages or items; images are their parts of this type. */
export function messageBlocks(
  messages: readonly JsonObject[],
  imageType: string,
): readonly PromptBlock[] {
  return messages.map((message) => {
    const images = blocksOf(message['content']).filter(({ type }) => type === imageType);
    const extraTokens = imageTokens * images.length;
    return { text: JSON.stringify(message), extraTokens, breakpoint: false };
  });
}
