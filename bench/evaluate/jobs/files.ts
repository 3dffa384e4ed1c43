/** Jobs that repair and change text files. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import type { DrawnJob, JobFamily, World, Worlds } from '../job';
import { heldOut, job } from '../job';

function textOf({ files }: World, name: string): string {
  const text = files.get(name);
  if (text !== undefined) return text;
  throw new ToolError(`There is no file ${JSON.stringify(name)}.`, {
    code: 'invalid_params',
    hint: `The files are ${[...files.keys()].join(', ')}.`,
  });
}

function replaceIn(world: World, name: string, find: string, replacement: string): string {
  const text = textOf(world, name);
  const count = find === '' ? 0 : text.split(find).length - 1;
  if (count === 0)
    throw new ToolError(`${name} does not hold ${JSON.stringify(find)}.`, {
      code: 'invalid_params',
      hint: 'Read the file, and give the text exactly as it stands there.',
    });
  world.files.set(
    name,
    text.replaceAll(find, () => replacement),
  );
  return `Replaced ${count} time(s).`;
}

const tools = (worlds: Worlds): ReturnType<JobFamily['tools']> => [
  defineTool({
    name: 'list_files',
    description: 'Lists the names of all files.',
    input: z.strictObject({}),
    effect: 'read',
    execute: (_input, { runId }) => [...worlds(runId).files.keys()].join('\n'),
  }),
  defineTool({
    name: 'read_file',
    description: 'Reads a file.',
    input: z.strictObject({ name: z.string() }),
    effect: 'read',
    execute: ({ name }, { runId }) => textOf(worlds(runId), name),
  }),
  defineTool({
    name: 'replace_text',
    description: 'Replaces a text in a file, wherever it stands there.',
    input: z.strictObject({ name: z.string(), find: z.string(), replacement: z.string() }),
    effect: 'keyed',
    execute: ({ name, find, replacement }, { runId }) =>
      replaceIn(worlds(runId), name, find, replacement),
  }),
  defineTool({
    name: 'write_file',
    description: 'Writes a file, new or in place of the old one.',
    input: z.strictObject({ name: z.string(), content: z.string() }),
    effect: 'keyed',
    execute: ({ name, content }, { runId }) => {
      worlds(runId).files.set(name, content);
      return 'Written.';
    },
  }),
];

/** Exactly these files, but for white space at their ends. */
function expectFiles({ files }: World, right: DrawnJob['files'] = {}): string | undefined {
  const wrong = [...new Set([...files.keys(), ...Object.keys(right)])].find(
    (name) => files.get(name)?.trim() !== right[name]?.trim(),
  );
  return wrong === undefined ? undefined : `${wrong} is not as it should be`;
}

/** The file is JSON with this value. */
function expectJson({ files }: World, name: string, right: object): string | undefined {
  try {
    const got = JSON.stringify(JSON.parse(files.get(name) ?? ''));
    return got === JSON.stringify(right) ? undefined : `${name} holds ${got}`;
  } catch {
    return `${name} is not JSON`;
  }
}

/** File jobs. */
export const fileJobs: JobFamily = {
  name: 'files',
  instructions:
    'You change files with tools. Read a file before you change it. When the goal is reached, say so in one sentence.',
  tools,
  jobs: [
    job('files-port', ({ number }) => {
      const [port, old] = [number(2_000, 9_000), number(1_000, 1_999)];
      return {
        goal: `Set the port in config.json to ${port}. Change nothing else.`,
        files: { 'config.json': `{ "host": "db.local", "port": ${old}, "tls": true }\n` },
        check: (world) => expectJson(world, 'config.json', { host: 'db.local', port, tls: true }),
      };
    }),
    job('files-broken-json', ({ number }) => {
      const size = number(10, 99);
      return {
        goal: 'settings.json is not valid JSON. Repair it without changing its values.',
        files: { 'settings.json': `{ "size": ${size} "color": "red", "tags": ["a", "b"] }\n` },
        check: (world) =>
          expectJson(world, 'settings.json', { size, color: 'red', tags: ['a', 'b'] }),
      };
    }),
    job('files-off-by-one', ({ oneOf }) => {
      const list = oneOf(['items', 'rows', 'names']);
      const code = (sign: string): string =>
        `for (let i = 0; i ${sign} ${list}.length; i += 1) print(${list}[i]);\n`;
      return {
        goal: `The loop in print.js reads one element behind the end of ${list}. Correct it.`,
        files: { 'print.js': code('<=') },
        check: (world) => expectFiles(world, { 'print.js': code('<') }),
      };
    }),
    job('files-rename', ({ oneOf }) => {
      const [from, to] = oneOf([
        ['getUser', 'loadUser'],
        ['sendMail', 'postMail'],
        ['parseRow', 'readRow'],
      ]);
      const files = (name: string): Record<string, string> => ({
        'lib.js': `export function ${name}(id) { return id; }\n`,
        'main.js': `import { ${name} } from "./lib.js";\nconsole.log(${name}(1));\n`,
      });
      return {
        goal: `Rename the function ${from} to ${to} in all files.`,
        files: files(from),
        check: (world) => expectFiles(world, files(to)),
      };
    }),
    heldOut('files-append', ({ oneOf }) => {
      const task = oneOf(['buy bread', 'call Ada', 'water the plants']);
      const list = '- pay rent\n- fix bike\n';
      return {
        goal: `Add "${task}" as the last line of todo.md, in the form of the other lines.`,
        files: { 'todo.md': list },
        check: (world) => expectFiles(world, { 'todo.md': `${list}- ${task}\n` }),
      };
    }),
  ],
};
