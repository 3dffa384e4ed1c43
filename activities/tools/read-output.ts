/** The tool `read_output`: reads a part of an output that the model got only head and tail of, or shows removed media again. */
import { z } from 'zod';
import { readOutputTool } from '../../workflows/core/tools/ports';
import { defineTool } from './define-tool';
import type { Tool } from './tool';
import { ToolError } from './tool-error';

/** Bytes in one answer: fewer than one result shows, so that the answer is never shortened itself. */
const maxLength = 12_000;
/** Bytes read before the offset, to begin at the start of a line: a secret cut in two is not recognized as one. */
const lineSearchBytes = 4_096;

/** Reads a part of a stored output. */
export const readOutput: Tool = defineTool({
  name: readOutputTool,
  description:
    'Reads a part of a long tool output, or shows a removed image or document. Give the ref, and the byte to begin at.',
  input: z.object({
    ref: z
      .string()
      .regex(/^[A-Za-z0-9_-]{43}$/, 'is not a ref; copy it from the shortened output')
      .describe('The ref from the shortened output.'),
    offset: z.int().min(0).default(0).describe('Byte to begin at. Default: 0.'),
    length: z.int().min(1).max(maxLength).default(maxLength).describe('Bytes to read.'),
  }),
  effect: 'read',
  label: 'ref',
  execute: async ({ ref, offset, length }, { readBlob, readMedia }) => {
    const media = await readMedia?.(ref);
    if (media !== undefined) return media;
    const before = Math.min(offset, lineSearchBytes);
    const { text, totalBytes } = await readBlob(ref, offset - before, length + before);
    if (offset >= totalBytes) {
      throw new ToolError(`The output has ${totalBytes} bytes; there is nothing at ${offset}`, {
        code: 'invalid_params',
      });
    }
    const bytes = Buffer.from(text);
    const lineStart = before === 0 ? 0 : bytes.lastIndexOf('\n', before - 1) + 1;
    const shown = bytes.subarray(lineStart).toString('utf8');
    const end = Math.min(totalBytes, offset + length);
    const more = end < totalBytes ? `\n[… read on with offset ${end}]` : '';
    const start = offset - before + lineStart;
    // The rest of a name at the beginning must not pass for a whole name (ADR 0033).
    const inLine = start > 0 && lineStart === 0 ? '[… in the middle of a line]\n' : '';
    return `Bytes ${start}-${end} of ${totalBytes}:\n${inLine}${shown}${more}`;
  },
});
