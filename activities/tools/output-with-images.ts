/** What a tool gives that has images beside its text. */
import type { ImageBlock } from '../../workflows/core/message';

/** The output of a call: the model reads the text, and sees the images where it takes images. */
export class OutputWithImages {
  constructor(
    readonly text: string,
    readonly images: readonly ImageBlock[],
  ) {}
}
