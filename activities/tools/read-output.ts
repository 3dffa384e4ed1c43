/** The runtime's tool for reading on in output that was too long to be shown whole. */
import { z } from 'zod';
import { defineTool } from './define-tool';
import type { Tool } from './tool';
import { ToolError } from './tool-error';

/** Bytes that one call reads: below what one tool result shows, so that reading never leads to reading on. */
const maxReadBytes = 12_000;

/** Added by the runtime to every agent that has tools. */
export const readOutputTool: Tool = defineTool({
  name: 'read_output',
  description:
    'Reads a part of a tool output that was too long to be shown whole. Use the ref that stands below that output.',
  input: z.object({
    ref: z.string().describe('the ref that stands below the shortened output'),
    offset: z.number().int().min(0).describe('first byte to read, from 0'),
    length: z
      .number()
      .int()
      .min(1)
      .max(maxReadBytes)
      .describe(`bytes to read, at most ${maxReadBytes}`),
  }),
  effect: 'read',
  label: 'ref',
  hint: 'Copy the ref exactly as it stands below the shortened output, and keep offset below the total size.',
  execute: async ({ ref, offset, length }, context) => {
    const { text, totalBytes } = await context.readBlob(ref, offset, length);
    if (offset >= totalBytes && totalBytes > 0)
      throw new ToolError(`offset ${offset} is past the end: the output has ${totalBytes} bytes`);
    const end = Math.min(offset + length, totalBytes);
    return `[bytes ${offset} to ${end} of ${totalBytes}]\n${text}`;
  },
});
