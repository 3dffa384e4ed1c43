/** No other process reads the secrets of a command's environment: not from `/proc`, not by `ps`, not by inheriting them. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

const preload = path.resolve('test/support/run-typescript.cjs');
const script = path.resolve('test/workers/fixtures/hide-environment.ts');
const nodeArguments = ['--require', preload, script];
const { PATH = '', HOME = '' } = process.env;

interface Said {
  readonly problem?: string;
  readonly names: readonly string[];
  readonly inherited: string;
  readonly path: string;
  readonly zone?: string;
  readonly read: string;
}

interface Start {
  readonly title?: string;
  /** Words in front of the process's own. */
  readonly wrapper?: readonly string[];
}

/** Starts the process, and hands over what it says and what others see of it. */
async function hidden(
  variables: Readonly<Record<string, string>>,
  { title = 'holdfast', wrapper = [] }: Start = {},
): Promise<Said & { readonly environ: string; readonly shownByPs: string }> {
  const [program, ...words] = [...wrapper, process.execPath, ...nodeArguments, title];
  const child = spawn(program, words, {
    env: { PATH, HOME, ...variables },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const lines = createInterface(child.stdout);
  const [line] = (await once(lines, 'line')) as [string];
  const pid = String(child.pid);
  const environ = wrapper.length > 0 ? '' : readFileSync(`/proc/${pid}/environ`, 'latin1');
  const shownByPs = execFileSync('ps', ['ewww', '-p', pid], { encoding: 'utf8' });
  child.stdin.end();
  await ended;
  return { ...(JSON.parse(line) as Said), environ: environ.replaceAll('\0', ''), shownByPs };
}

const value = 'plain-unknown-shape-0001';

test.each<[string, Readonly<Record<string, string>>, string?]>([
  ['a key', { ANTHROPIC_API_KEY: value }],
  ['an address with a password', { DATABASE_URL: `postgres://me:${value}@db/x` }],
  ['a webhook', { SLACK_WEBHOOK_URL: `https://hooks.example.com/${value}` }],
  [
    'a token beside 2,000 other variables',
    Object.fromEntries([
      ...Array.from({ length: 2_000 }, (_, index) => [`V${index}`, `${index}`.repeat(20)]),
      ['GH_TOKEN', value],
    ]),
  ],
  ['a credential of several lines', { SERVICE_CREDENTIALS: `{\n"id": "${value}"\n}\n` }],
  [
    'a password beside empty and odd variables',
    { EMPTY: '', 'a.b-c': 'é=ü=\u{1f511}', DB_PASSWORD: value },
  ],
  ['a key of a process with an odd name', { OPENAI_API_KEY: value }, 'a) 1 2 (b'],
])('hides %s', async (_what, variables, title = 'holdfast') => {
  const {
    problem,
    names,
    inherited,
    path: kept,
    environ,
    shownByPs,
    read,
  } = await hidden(variables, { title });
  expect(problem).toBeUndefined();
  expect([environ, read]).toEqual(['', '']);
  expect(shownByPs).not.toContain(value);
  expect(inherited).not.toContain(value);
  const secret = Object.keys(variables).filter((name) => variables[name]?.includes(value) === true);
  expect(names).not.toEqual(expect.arrayContaining(secret));
  // What is no secret works on, in this process and in those that it starts.
  expect(kept).toBe(PATH);
  for (const [name, text] of Object.entries(variables))
    if (!secret.includes(name)) expect(inherited).toContain(`${name}=${text}\n`);
});

test('leaves variables that only sound like secrets', async () => {
  const variables = {
    GIT_AUTHOR_NAME: 'Ann',
    SSH_AUTH_SOCK: '/run/agent',
    TLS_KEY_FILE: '/pem/key',
    TZ: 'UTC',
  };
  const { names, environ, zone } = await hidden(variables);
  expect(names).toEqual(expect.arrayContaining(Object.keys(variables)));
  expect([environ, zone]).toEqual(['', 'UTC']);
});

test('says what stays readable where the kernel refuses, and nothing if there is no secret', async () => {
  // A /proc that cannot be written, as in some containers.
  const wrapper = [
    'bwrap',
    '--dev-bind',
    '/',
    '/',
    '--unshare-pid',
    '--proc',
    '/proc',
    '--remount-ro',
    '/proc',
    '--die-with-parent',
  ];
  const { problem, names } = await hidden(
    { ANTHROPIC_API_KEY: value, OPENAI_API_KEY: value },
    { wrapper },
  );
  expect(problem).toMatch(
    /could not be overwritten \(EROFS.*can read ANTHROPIC_API_KEY, OPENAI_API_KEY in \/proc\/\d+\/environ\. Give secrets by HOLDFAST_SECRETS_FILE/,
  );
  expect(problem).not.toContain(value);
  expect(names).not.toContain('ANTHROPIC_API_KEY');
  expect((await hidden({}, { wrapper })).problem).toBeUndefined();
});
