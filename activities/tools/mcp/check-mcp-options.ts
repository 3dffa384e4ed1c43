/** Refuses options of an MCP server that could not work, before the server is started or reached. */
import { z } from 'zod';
import { checkOptions } from '../../lifecycle/check-options';
import { UserError } from '../../lifecycle/user-error';
import { maxTimeoutMs } from '../define-tool';
import type { McpOptions } from './mcp-options';
import { isPattern, readingTools } from './mcp-tool-rules';

/** Characters of a tool name, as vendors allow. */
const maxNameChars = 64;

const text = z.string({ error: 'give a string' });
const filled = text.min(1, 'give a string that is not empty');
const flag = z.boolean({ error: 'give true or false' }).exactOptional();
const texts = z.record(z.string(), text, { error: 'give an object of texts' });
const names = z
  .array(filled, { error: "give an array of names or patterns, such as ['get_*', 'refund']" })
  .exactOptional();
const milliseconds = z
  .custom<number>(
    (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= maxTimeoutMs,
    {
      error: ({ input }) => `${String(input)} is not a whole number from 1 to ${maxTimeoutMs}`,
    },
  )
  .exactOptional();

function given(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

const fn = z.custom<(...given: never[]) => unknown>((value) => typeof value === 'function');

const toolOptions = z.strictObject(
  {
    effect: z
      .enum(['read', 'keyed', 'irreversible'], {
        error: ({ input }) => `${given(input)}; give "read", "keyed" or "irreversible"`,
      })
      .exactOptional(),
    approval: z
      .union([z.enum(['never', 'always']), fn], {
        error: ({ input }) => `${given(input)}; give "never", "always" or a function`,
      })
      .exactOptional(),
    rename: text
      .regex(/^[a-zA-Z0-9_-]+$/, 'use the characters a-z, A-Z, 0-9, "_" and "-"')
      .exactOptional(),
    timeoutMs: milliseconds,
    runsPrograms: flag,
    onUnknown: z
      .enum(['tell-model', 'ask-person'], {
        error: ({ input }) => `${given(input)}; give "tell-model" or "ask-person"`,
      })
      .exactOptional(),
  },
  { error: ({ code }) => (code === 'invalid_type' ? 'give an object' : undefined) },
);

const stdioServer = z.strictObject({
  type: z.literal('stdio'),
  command: filled,
  args: z.array(text, { error: 'give an array of strings' }).exactOptional(),
  env: texts.exactOptional(),
  cwd: text.exactOptional(),
});

const httpServer = z.strictObject({
  type: z.literal('http'),
  url: text.refine(
    (url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol),
    'it cannot be parsed; give http(s)://host/path',
  ),
  headers: z
    .union([texts, fn], { error: 'give an object of texts, or a function that returns one' })
    .exactOptional(),
});

const shape = z.strictObject({
  name: text.regex(
    /^[a-zA-Z0-9_-]{1,32}$/,
    'it begins the names of tools; use 1 to 32 letters, digits, "_" or "-"',
  ),
  transport: z.discriminatedUnion('type', [stdioServer, httpServer], {
    error: ({ input }) =>
      `there is no transport ${given((input as { type?: unknown } | undefined)?.type)}; use "http" (streamable HTTP, which replaced "sse") or "stdio"`,
  }),
  allow: names,
  deny: names,
  tools: z
    .record(z.string(), toolOptions, {
      error: 'give an object: a name or pattern, and how its tools are used',
    })
    .exactOptional(),
  trustHints: flag,
  resources: flag,
  prompts: flag,
  startTimeoutMs: milliseconds,
  required: flag,
});

/** What only several options together show: each a sentence that names the option. */
function contradictions(options: McpOptions): readonly (string | false)[] {
  const { name, allow, tools = {} } = options;
  const reading = (['resources', 'prompts'] as const).flatMap((what) =>
    options[what] === true ? readingTools[what] : [],
  );
  const taken = new Map<string, string>(reading.map((each) => [each, 'Holdfast']));
  const problems = Object.entries(tools).flatMap(([key, { rename, effect, onUnknown }]) => {
    const where = `tools.${key}`;
    const owner = rename === undefined ? undefined : taken.get(rename);
    if (rename !== undefined) taken.set(rename, `tools.${key}`);
    return [
      rename !== undefined &&
        isPattern(key) &&
        `${where}.rename is for one tool, but "${key}" is a pattern; name the tool`,
      rename !== undefined &&
        name.length + 1 + rename.length > maxNameChars &&
        `${where}.rename: "${name}_${rename}" has more than ${maxNameChars} characters, which vendors refuse; give a shorter one`,
      owner !== undefined &&
        `${where}.rename: "${rename}" is also the name of ${owner === 'Holdfast' ? 'a tool of Holdfast' : `what ${owner} renames`}; give another one`,
      effect === 'read' &&
        onUnknown === 'ask-person' &&
        `${where}: the outcome of a "read" is never unknown; leave onUnknown out, or give another effect`,
    ];
  });
  return [
    allow?.length === 0 &&
      options.resources !== true &&
      options.prompts !== true &&
      'allow is empty, so agents get no tool; name some, or leave it out for all',
    ...problems,
  ];
}

/**
 * Checks the options of a server.
 *
 * Errors: `UserError` that names the server, each option that is wrong or unknown with its value, and the remedy.
 */
export function checkMcpOptions(options: McpOptions): void {
  const { name } = { ...(options as McpOptions | undefined) };
  const where = typeof name === 'string' ? `MCP server ${given(name)}` : 'connectMcp';
  checkOptions(where, '', shape, options);
  const problems = contradictions(options).filter((problem) => problem !== false);
  if (problems.length > 0) throw new UserError(`${where}: ${problems.join('; ')}.`);
}
