/** Images and documents as OpenAI's two wires have them. */
import type { FileBlock, MediaBlock } from '../../../workflows/core/message';

/** The bytes as a `data:` URL. */
export function dataUrl({ mediaType, data = '' }: MediaBlock): string {
  return `data:${mediaType};base64,${data}`;
}

/** The name of a document: OpenAI takes none without. */
export function fileName({ name = 'document.pdf' }: FileBlock): string {
  return name;
}
