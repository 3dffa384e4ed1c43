/** What a tool gives that has images and documents beside its text. */
import type { CheckedMedia } from '../media/check-media';

/** The output of a call: the model reads the text, which names each image or document, and sees those that it takes. */
export class OutputWithMedia {
  constructor(
    readonly text: string,
    readonly media: readonly CheckedMedia[],
  ) {}
}

/** What stands in the text for an image or a document that follows it. */
export function shownMedia({ facts: { type, mediaType, bytes, name } }: CheckedMedia): string {
  const what = name === undefined ? mediaType : `${name}, ${mediaType}`;
  return `[${type} ${what}, ${bytes} bytes: it follows this result]`;
}

/** Images and documents of one result that the model sees: a request takes 20 large ones at most. */
export const maxMedia = 10;
