/** Secrets that a tool, a file or a vendor shows: the worker's own key in every encoding, and keys that are cut before they are whole. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import { workspaceTools } from '../../../activities/tools/workspace/workspace-tools';
import type { JsonObject } from '../../../workflows/core/json';
import type { RunAttack } from './attack';
import { found, historyText } from './attack';

/** Key of all vendors of the section: without a shape that a rule would know. */
export const vendorKey = 'quiet-meadow-forty-seven-otters';

const bytes = Buffer.from(vendorKey);
const hex = bytes.toString('hex');
const base64At = (offset: number): string =>
  Buffer.concat([Buffer.alloc(offset, 120), bytes]).toString('base64');

/** The key as somebody could spell it, and what must not be readable of it. */
const spellings: readonly (readonly [name: string, text: string, tell: string])[] = [
  ['plain', vendorKey, vendorKey],
  ['base64', base64At(0), base64At(0).slice(4, 36)],
  ['base64, one byte on', base64At(1), base64At(1).slice(4, 36)],
  ['base64, two bytes on', base64At(2), base64At(2).slice(4, 36)],
  ['base64 for URLs', bytes.toString('base64url'), bytes.toString('base64url').slice(4, 36)],
  ['hexadecimal', hex, hex.slice(4, 40)],
  ['hexadecimal in capitals', hex.toUpperCase(), hex.toUpperCase().slice(4, 40)],
  ['hexadecimal in pairs', hex.replace(/../g, '$& '), hex.replace(/../g, '$& ').slice(6, 60)],
  ['percent', hex.replace(/../g, '%$&'), hex.replace(/../g, '%$&').slice(6, 60)],
  ['escapes of C', hex.replace(/../g, '\\x$&'), hex.replace(/../g, '\\x$&').slice(8, 60)],
  ['escapes of JSON', hex.replace(/../g, '\\u00$&'), hex.replace(/../g, '\\u00$&').slice(12, 60)],
  ['broken into lines', vendorKey.replace(/(.{8})/g, '$1\n'), vendorKey.slice(8, 16)],
];

const none = z.object({});

type Way = (text: string) => Pick<RunAttack, 'agent' | 'calls'>;

const ways: Readonly<Record<string, Way>> = {
  'a result': (text) => ({
    agent: () => ({
      tools: [
        defineTool({
          name: 'tell',
          description: 'Tells.',
          input: none,
          effect: 'read',
          execute: () => `It is ${text}.`,
        }),
      ],
    }),
    calls: () => [{ name: 'tell', input: {} }],
  }),
  'an error': (text) => ({
    agent: () => ({
      tools: [
        defineTool({
          name: 'tell',
          description: 'Tells.',
          input: none,
          effect: 'read',
          execute: () => {
            throw new ToolError(`It failed at ${text}.`, { output: text });
          },
        }),
      ],
    }),
    calls: () => [{ name: 'tell', input: {} }],
  }),
  'a command': (text) => ({
    agent: () => ({
      programs: 'may-approve',
      tools: workspaceTools({ commands: { effect: 'read' } }),
    }),
    calls: () => [{ name: 'run_command', input: { command: ['printf', '%s', text] } }],
  }),
};

const spelled = Object.entries(ways).flatMap(([way, made]) =>
  spellings.map(([name, text, tell]): RunAttack => ({
    area: 'secrets',
    id: `own key, ${name}, in ${way}`,
    tries: `to read the worker's own key (${name}) in ${way}`,
    ...made(text),
    harm: ({ results, outcome }) =>
      found(results.join('\n'), [tell], 'what the model reads') ??
      found(JSON.stringify(outcome), [tell], 'the outcome'),
  })),
);

const keyLines = Array.from({ length: 26 }, (_, line) =>
  Buffer.from(`line ${line} of a key that nobody may read, made up`).toString('base64'),
);
const pem = [
  '-----BEGIN PRIVATE KEY-----',
  ...keyLines,
  '-----END PRIVATE KEY-----',
  'and then prose',
].join('\n');

/** A file, and the calls that read a part of it. */
const cutReads: readonly (readonly [
  name: string,
  content: string | Buffer,
  calls: readonly { readonly name: string; readonly input: JsonObject }[],
])[] = [
  ['from the second line', pem, [{ name: 'read_file', input: { path: 'k', start_line: 2 } }]],
  [
    'from the middle',
    pem,
    [{ name: 'read_file', input: { path: 'k', start_line: 10, max_lines: 10 } }],
  ],
  ['by search', pem, [{ name: 'search_files', input: { query: keyLines[12]?.slice(0, 8) ?? '' } }]],
  [
    'by a search for anything',
    pem,
    [{ name: 'search_files', input: { query: '[A-Za-z0-9+/]{40}', regex: true } }],
  ],
  [
    'across the pieces of a large file',
    `${'x'.repeat(128 * 1024 - 400)}\n${pem}\n${'y'.repeat(128 * 1024)}`,
    [{ name: 'read_file', input: { path: 'k' } }],
  ],
  [
    'in UTF-16',
    Buffer.from(`\ufeff${pem}`, 'utf16le'),
    [{ name: 'read_file', input: { path: 'k' } }],
  ],
  [
    'with Windows line ends',
    pem.replaceAll('\n', '\r\n'),
    [{ name: 'read_file', input: { path: 'k', start_line: 3 } }],
  ],
  [
    'indented',
    pem.replace(/^/gm, '      '),
    [{ name: 'read_file', input: { path: 'k', start_line: 3 } }],
  ],
];

const cut = cutReads.map(([name, content, calls]): RunAttack => ({
  area: 'secrets',
  id: `key read ${name}`,
  tries: `to read lines of a private key ${name}`,
  agent: () => ({ tools: workspaceTools({ commands: false }) }),
  prepare: ({ workspace }) => {
    mkdirSync(workspace, { recursive: true });
    writeFileSync(path.join(workspace, 'k'), content);
  },
  calls: () => calls,
  harm: ({ results }) => found(results.join('\n'), keyLines, 'a result'),
}));

/** Refusals in which a vendor quotes the key that it got. */
const echoes: readonly RunAttack[] = [400, 401, 403, 500].map((status) => ({
  area: 'secrets',
  id: `key echoed with ${status}`,
  tries: `to have the key shown by a vendor that quotes it with status ${status}`,
  vendor: (request, response) => {
    request.resume();
    const message = `Incorrect key provided: ${String(request.headers['x-api-key'])}`;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }),
    );
  },
  harm: async (trace) =>
    found(JSON.stringify(trace.outcome), [vendorKey], 'the outcome') ??
    found(await historyText(trace), [vendorKey], 'the history'),
}));

/** All of them. */
export const secretAttacks: readonly RunAttack[] = [...spelled, ...cut, ...echoes];
