/** Options of an MCP server that cannot work: each is refused before a server is started or reached, with thing, value, and remedy. */
import { UserError } from '../../../activities/lifecycle/user-error';
import type { McpOptions } from '../../../activities/tools/mcp/connect-mcp';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';

/** A program that cannot start: options that pass would show it. */
const transport = { type: 'stdio' as const, command: 'no-such-program' };
const tool = (options: unknown, key = 'refund') => ({ tools: { [key]: options } });

const wrong: readonly (readonly [string, unknown, RegExp])[] = [
  ['no name', { name: undefined }, /^connectMcp: name: give a string\.$/],
  ['a name that begins no tool name', { name: 'a b' }, /"a b": name: .*1 to 32 letters/],
  [
    'no transport',
    { transport: undefined },
    /transport: there is no transport undefined; use "http"/,
  ],
  [
    'the old transport',
    { transport: { type: 'sse', url: 'http://127.0.0.1:1' } },
    /no transport "sse"/,
  ],
  [
    'an empty command',
    { transport: { type: 'stdio', command: '' } },
    /transport\.command: give a string that is not empty/,
  ],
  [
    'arguments in one text',
    { transport: { ...transport, args: '--port 1' } },
    /transport\.args: give an array of strings/,
  ],
  [
    'a variable that is a number',
    { transport: { ...transport, env: { PORT: 1 } } },
    /transport\.env\.PORT: give a string/,
  ],
  [
    'headers for a program',
    { transport: { ...transport, headers: {} } },
    /transport: Unrecognized key: "headers"/,
  ],
  [
    'a URL that is none',
    { transport: { type: 'http', url: 'nowhere' } },
    /transport\.url: it cannot be parsed; give http/,
  ],
  [
    'a URL of another protocol',
    { transport: { type: 'http', url: 'ftp://a/b' } },
    /transport\.url: it cannot be parsed/,
  ],
  [
    'a header that is a number',
    { transport: { type: 'http', url: 'http://a', headers: { n: 1 } } },
    /transport\.headers: give an object of texts, or a function/,
  ],
  ['a misspelled option', { trustHint: true }, /Unrecognized key: "trustHint"/],
  ['effects apart from the tools', { effects: { refund: 'read' } }, /Unrecognized key: "effects"/],
  ['a flag that is a text', { trustHints: 'yes' }, /trustHints: give true or false/],
  ['resources by name', { resources: ['mem://a'] }, /resources: give true or false/],
  [
    'no time to start',
    { startTimeoutMs: 0 },
    /startTimeoutMs: 0 is not a whole number from 1 to 86400000/,
  ],
  [
    'one pattern without an array',
    { allow: 'get_*' },
    /allow: give an array of names or patterns, such as/,
  ],
  ['an empty pattern', { deny: [''] }, /deny\.0: give a string that is not empty/],
  ['no tool at all', { allow: [] }, /allow is empty, so agents get no tool; name some/],
  ['tools as an array', { tools: ['refund'] }, /tools: give an object: a name or pattern/],
  ['false for a tool', tool(false), /tools\.refund: give an object/],
  [
    'a misspelled option of a tool',
    tool({ effects: 'read' }),
    /tools\.refund: Unrecognized key: "effects"/,
  ],
  [
    'an effect that a server cannot have',
    tool({ effect: 'reconcilable' }),
    /tools\.refund\.effect: "reconcilable"; give "read", "keyed" or "irreversible"/,
  ],
  [
    'an approval that is no word',
    tool({ approval: 'ask' }),
    /tools\.refund\.approval: "ask"; give "never", "always" or a function/,
  ],
  [
    'an unknown decider',
    tool({ onUnknown: 'retry' }),
    /tools\.refund\.onUnknown: "retry"; give "tell-model" or "ask-person"/,
  ],
  [
    'a time limit of a year',
    tool({ timeoutMs: 3e10 }),
    /tools\.refund\.timeoutMs: 30000000000 is not a whole number/,
  ],
  [
    'a read that is unknown',
    tool({ effect: 'read', onUnknown: 'ask-person' }),
    /tools\.refund: the outcome of a "read" is never unknown; leave onUnknown out/,
  ],
  [
    'a name that vendors refuse',
    tool({ rename: 'give back' }),
    /tools\.refund\.rename: use the characters a-z/,
  ],
  [
    'a long name',
    tool({ rename: 'x'.repeat(62) }),
    /tools\.refund\.rename: "pay_x+" has more than 64 characters, which vendors refuse; give a shorter one/,
  ],
  [
    'a name for many tools',
    tool({ rename: 'back' }, 're*'),
    /tools\.re\*\.rename is for one tool, but "re\*" is a pattern; name the tool/,
  ],
  [
    'one name for two tools',
    { tools: { a: { rename: 'c' }, b: { rename: 'c' } } },
    /tools\.b\.rename: "c" is also the name of what tools\.a renames; give another one/,
  ],
  [
    'a name of Holdfast',
    { resources: true, ...tool({ rename: 'read_resource' }) },
    /tools\.refund\.rename: "read_resource" is also the name of a tool of Holdfast/,
  ],
];

test.each(wrong)('refuses %s', async (_what, options, message) => {
  const refused = connectMcp({ name: 'pay', transport, ...(options as Partial<McpOptions>) });
  await expect(refused).rejects.toBeInstanceOf(UserError);
  await expect(refused).rejects.toThrow(message);
});

test('the compiler refuses what it can see', () => {
  const options: readonly McpOptions[] = [
    // @ts-expect-error: no such transport
    { name: 'pay', transport: { type: 'sse', url: 'http://a' } },
    // @ts-expect-error: a probe is code, which a server cannot give
    { name: 'pay', transport, tools: { refund: { effect: 'reconcilable' } } },
    // @ts-expect-error: a rule answers yes or no
    { name: 'pay', transport, tools: { refund: { approval: () => 'ask' } } },
    // @ts-expect-error: no such option
    { name: 'pay', transport, trustHint: true },
    // @ts-expect-error: patterns stand in an array
    { name: 'pay', transport, allow: 'get_*' },
  ];
  expect(options).toHaveLength(5);
});
