/** What the command line does with the keys of approvers, and whom its built-in agent asks. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { guardPrograms } from '../../activities/definitions/guard-programs';
import { approvalKeyFrom, publicKeyText } from '../../client/approval-key';
import { localAgents } from '../../workers/cli/local-agents';
import { readEnvironment } from '../../workers/env';
import type { Variables } from '../support/run-command';
import { runCommand } from '../support/run-command';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'holdfast-approval-key-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const holdfast = (args: readonly string[], variables: Variables = {}) =>
  runCommand(args, {
    variables: { HOLDFAST_STATE_DIR: folder, ...variables },
    directory: folder,
  });

test('makes a key pair: a private file that nobody else can read, and the public key', async () => {
  const { code, out, err } = await holdfast(['approval-key', 'ada.pem']);
  const file = path.join(folder, 'ada.pem');
  expect(code).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(out).toMatch(/^ed25519:[\w-]{43}\n$/);
  expect(`${publicKeyText(approvalKeyFrom(readFileSync(file, 'utf8')))}\n`).toBe(out);
  expect(err).toContain(`HOLDFAST_APPROVAL_KEY=${file} holdfast approve RUN`);
  expect(`${out}${err}`).not.toContain('PRIVATE');

  const before = readFileSync(file, 'utf8');
  expect(await holdfast(['approval-key', 'ada.pem'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('EEXIST') as string,
  });
  expect(readFileSync(file, 'utf8')).toBe(before);

  const json = await holdfast(['approval-key', 'bob.pem', '--json']);
  expect(JSON.parse(json.out)).toEqual({
    file: path.join(folder, 'bob.pem'),
    publicKey: expect.stringMatching(/^ed25519:/) as string,
  });
});

test.each([
  ['worker', ['worker', '--wait', '0s']],
  ['run', ['run', 'x']],
])('no %s starts beside a private key', async (_what, args) => {
  await holdfast(['approval-key', 'ada.pem']);
  const ended = await holdfast(args, {
    HOLDFAST_APPROVAL_KEY: 'ada.pem',
    TEMPORAL_ADDRESS: 'localhost:1',
    HOLDFAST_MODEL: 'anthropic/claude-sonnet-5',
    ANTHROPIC_API_KEY: 'test-key',
  });
  expect(ended).toMatchObject({
    code: 2,
    err: expect.stringMatching(
      /HOLDFAST_APPROVAL_KEY is set where a worker starts.*Unset it/,
    ) as string,
  });
});

test('a key file that cannot be used is named', async () => {
  const approve = (key: string) =>
    holdfast(['approve', 'r', 'a'], {
      HOLDFAST_APPROVAL_KEY: key,
      TEMPORAL_ADDRESS: 'localhost:1',
    });
  expect(await approve('none.pem')).toMatchObject({
    code: 2,
    err: expect.stringMatching(
      /HOLDFAST_APPROVAL_KEY names .*none\.pem, which cannot be read/,
    ) as string,
  });
});

describe('the built-in agent', () => {
  const coder = async (options: { unattended?: boolean }, variables: Variables = {}) => {
    const environment = readEnvironment(
      { HOLDFAST_MODEL: 'anthropic/claude-sonnet-5', ANTHROPIC_API_KEY: 'test-key', ...variables },
      folder,
    );
    const { agents } = await localAgents(environment, { ...options, directory: folder, variables });
    const guarded = guardPrograms(agents, environment.approvers !== undefined);
    expect(guarded.warnings).toEqual([]);
    const tools = guarded.agents.flatMap((agent) => agent.tools);
    return Object.fromEntries(tools.map(({ name, approval }) => [name, approval]));
  };

  test('asks before commands and before changes of files that programs run later', async () => {
    expect(await coder({})).toMatchObject({ run_command: 'always', write_file: 'rule' });
  });

  test('asks nobody if it is unattended', async () => {
    expect(new Set(Object.values(await coder({ unattended: true })))).toEqual(new Set(['never']));
  });

  test('runs commands without asking where decisions are signed', async () => {
    const key = `ed25519:${'A'.repeat(43)}`;
    expect(await coder({}, { HOLDFAST_APPROVERS: `${key}, ${key}` })).toMatchObject({
      run_command: 'never',
      write_file: 'rule',
    });
  });

  test('is the only one that --unattended is for', async () => {
    writeFileSync(path.join(folder, 'own.cjs'), 'exports.agents = []');
    expect(await holdfast(['worker', '--agents', 'own.cjs', '--unattended'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--unattended is for the built-in agent') as string,
    });
  });
});
