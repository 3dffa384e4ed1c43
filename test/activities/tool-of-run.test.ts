/** Which tool a call is for, with what input, and what the model hears if its schema is an old one. */
import type { ToolsOfRun } from '../../activities/tool-call/tool-of-run';
import {
  hasCodeFor,
  inputOf,
  refusedInputHint,
  requireTool,
  runContextOf,
  toolOfRun,
} from '../../activities/tool-call/tool-of-run';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool } from '../../activities/tools/tool';
import { z } from 'zod';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

const tool = (name: string): Tool =>
  defineTool({
    name,
    description: 'Acts.',
    input: z.object({ a: z.string() }),
    effect: 'read',
    execute: () => 'done',
  });
const [own, core, absent, later] = [tool('own'), tool('core'), tool('absent'), tool('later')];

/** A run with the tools `own`, `core` and `gone`, on a worker that also has another one. */
const run = {
  runId: 'run',
  agent: {
    name: 'worker',
    coreTools: [core],
    registry: new Map([own, later].map((each) => [each.name, each])),
    absentTool: (name: string) => (name === 'absent' ? absent : undefined),
  },
  config: { tools: [own, core, { name: 'gone' }, { name: 'absent' }], workspace: '/srv' },
} as unknown as ToolsOfRun;

test('a tool is one of the run, with the code of this worker', () => {
  expect(['own', 'core', 'absent'].map((name) => toolOfRun(run, name))).toEqual([
    own,
    core,
    absent,
  ]);
  expect(toolOfRun(run, 'later')).toBeUndefined();
  expect(requireTool(run, 'later')).toBe(later);
  expect(['own', 'core', 'absent', 'later', 'gone'].map((name) => hasCodeFor(run, name))).toEqual([
    ...[true, true, true, false, false],
  ]);
  expect(() => toolOfRun(run, 'gone')).toThrow(/lacks the tool "gone" of agent "worker"/);
});

test('a tool may know of its run: the tenant is the default one unless it has one', () => {
  expect(runContextOf(run)).toEqual({
    ...{ runId: 'run', agent: 'worker', tenant: 'default', workspace: '/srv', context: undefined },
  });
  const config = { ...run.config, tenant: 'acme', context: { a: 1 } };
  expect(runContextOf({ ...run, config })).toMatchObject({ tenant: 'acme', context: { a: 1 } });
});

test('the model hears that its schema is out of date, if it is', () => {
  const old = {
    ...run,
    config: { ...run.config, tools: [{ ...own, inputSchema: { type: 'object' } }] },
  };
  const changed = /^The schema of own that you were given is out of date: .* Follow this message\./;
  expect(refusedInputHint(run, own, 'Give a.')).toBe('Give a.');
  expect(refusedInputHint(run, own, undefined)).toBeUndefined();
  expect(refusedInputHint(run, later, 'Give a.')).toBe('Give a.');
  expect(refusedInputHint(old as ToolsOfRun, own, undefined)).toMatch(changed);
  expect(refusedInputHint(old as ToolsOfRun, own, 'Give a.')).toMatch(changed);
  expect(refusedInputHint(old as ToolsOfRun, own, 'Give a.')).toMatch(/ Give a\.$/);
});

describe('the input of a call', () => {
  let stored: TemporaryStore;
  beforeEach(async () => {
    stored = await temporaryStore();
  });
  afterEach(() => stored.dispose());

  test('is in the call, in the store, or empty', async () => {
    const { store } = stored;
    expect(await inputOf(store, { toolCallId: 'c', input: { a: 'x' } })).toEqual({ a: 'x' });
    expect(await inputOf(store, { toolCallId: 'c' })).toEqual({});
    const inputBlob = await store.putBlob('{"a":"y"}');
    expect(await inputOf(store, { toolCallId: 'c', inputBlob })).toEqual({ a: 'y' });
  });

  test.each(['[1]', '"x"', 'null'])('in the store is an object, and not %s', async (json) => {
    const inputBlob = await stored.store.putBlob(json);
    await expect(inputOf(stored.store, { toolCallId: 'c', inputBlob })).rejects.toMatchObject({
      failure: { code: 'store_corrupt' },
    });
  });
});
