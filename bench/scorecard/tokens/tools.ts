/** Tools as an agent has them, for the part of a request that every call carries. */
import type { ToolSpec } from '../../../activities/providers/provider';
import type { JsonObject } from '../../../workflows/core/json';

function tool(name: string, description: string, properties: JsonObject): ToolSpec {
  return {
    name,
    description,
    inputSchema: { type: 'object', properties, required: Object.keys(properties).slice(0, 1) },
  };
}

const path = { type: 'string', description: 'Path relative to the workspace, such as src/a.ts.' };

/** Five tools of a coding agent. */
export const conversationTools: readonly ToolSpec[] = [
  tool('read_file', 'Reads a text file of the workspace, whole or a range of its lines.', {
    path,
    from: { type: 'integer', minimum: 1, description: 'First line, from 1.' },
  }),
  tool('list_files', 'Lists the files of a folder, newest first.', {
    path,
    limit: { type: 'integer', minimum: 1, maximum: 1_000 },
  }),
  tool('search_files', 'Searches all files for a regular expression and gives matching lines.', {
    pattern: { type: 'string', description: 'A regular expression of JavaScript.' },
    path,
    kind: { type: 'string', enum: ['text', 'code', 'any'] },
  }),
  tool('edit_file', 'Replaces one exact piece of text in a file by another.', {
    path,
    before: { type: 'string', description: 'Text that stands in the file exactly once.' },
    after: { type: 'string' },
  }),
  tool('run_command', 'Runs a command in the workspace and gives its output and exit code.', {
    command: { type: 'string' },
    timeoutMs: { type: 'integer', minimum: 1_000, maximum: 600_000 },
  }),
];
