/** What a call leaves, and what is compared with it later: its result, the path it named, the definition that was approved. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { actionDigest } from '../../activities/identity/call-identity';
import type { Store } from '../../activities/stores/store';
import { changedDefinition } from '../../activities/tool-call/changed-definition';
import { stillNames, wholeOutput } from '../../activities/tool-call/path-origin';
import type { FinishedExecution } from '../../activities/tool-call/tool-execution';
import { keepResult, resultOf } from '../../activities/tool-output/kept-result';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool } from '../../activities/tools/tool';
import type { AgentError } from '../../workflows/core/failure';
import { previewChars } from '../../workflows/core/limits';
import type { Message } from '../../workflows/core/message';
import type { ParameterOrigin } from '../../workflows/core/recovery/action';
import type { ResultIdentity, RunToolInput } from '../../workflows/core/tools/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

const input = {
  ...{ toolCallId: 'call', name: 'look', idempotencyKey: 'run/call', input: {} },
  ...{ storeId: '', definition: '' },
} as RunToolInput;
const look = (effect: Tool['effect']): Tool =>
  defineTool({
    ...{ name: 'look', description: 'Looks.', input: z.object({}), effect },
    execute: () => 'done',
  });

describe('a result', () => {
  const identity = { fingerprint: 'print' } as unknown as ResultIdentity;
  const error: AgentError = {
    ...{ kind: 'agent', code: 'tool_execution_failed', message: 'no such file', recoverable: true },
  };
  const place = () => ({ store: stored.store, input, workspace: '/srv', paths: { root: '/srv' } });

  async function kept(execution: FinishedExecution) {
    const result = await resultOf(place(), execution, identity);
    const json = (await stored.store.getBlob(result.result ?? '')).toString();
    return { ...result, shown: JSON.parse(json) as Record<string, unknown> };
  }

  test('of an output has its text, its findings, and its identity', async () => {
    const { shown, ...result } = await kept({ type: 'output', text: 'größer\nsrc/a.ts' });
    expect(shown).toEqual({
      content: expect.stringMatching(/^<tool_output[^]*größer\nsrc\/a\.ts[^]*>$/) as string,
      isError: false,
    });
    expect(result).toMatchObject({ preview: 'größer\nsrc/a.ts', bytes: 17, fingerprint: 'print' });
    expect(result.findings?.paths).toEqual([{ path: 'src/a.ts', line: 2 }]);
    expect([result.error, result.saysFailed, result.isOutcomeUnknown]).toEqual([
      ...[undefined, undefined, undefined],
    ]);
    expect((await kept({ type: 'output', text: '{"ok":false}' })).saysFailed).toBe(true);
    const { preview } = await kept({ type: 'output', text: 'x'.repeat(500) });
    expect(preview.length).toBeLessThanOrEqual(previewChars);
    expect(preview).toMatch(/^x{50}/);
  });

  test('of a long output names the whole', async () => {
    const text = 'a line of text\n'.repeat(2_000);
    const { shown } = await kept({ type: 'output', text });
    expect((await stored.store.getBlob(String(shown['blob']))).toString()).toBe(text);
  });

  test.each([
    ['nothing else', undefined],
    ['an output of blanks', ' \n'],
  ])('of an error with %s is the error alone', async (_what, output) => {
    const { shown, ...result } = await kept({ type: 'error', error, ...(output && { output }) });
    expect(shown['isError']).toBe(true);
    expect(JSON.parse(String(shown['content']))).toMatchObject({ message: 'no such file' });
    expect(result).toMatchObject({ error, preview: 'no such file' });
    expect(result.bytes).toBe(Buffer.byteLength(String(shown['content'])));
    expect([result.findings, result.saysFailed, result.isOutcomeUnknown]).toEqual([
      ...[undefined, undefined, undefined],
    ]);
  });

  test('of an error with an output has both, and is not searched', async () => {
    const { shown, ...result } = await kept({
      ...{ type: 'error', error, output: 'src/a.ts: error', isOutcomeUnknown: true },
    });
    expect(String(shown['content'])).toMatch(
      /^\{"error":true.*\}\n<tool_output[^]*src\/a\.ts: error/,
    );
    expect(result).toMatchObject({ preview: 'no such file', bytes: 15, isOutcomeUnknown: true });
    expect(result.findings).toBeUndefined();
  });

  const keep = (effect: Tool['effect'], isLocal = false): Promise<unknown> =>
    new MockActivityEnvironment({ isLocal }).run(() =>
      keepResult(place(), look(effect), { type: 'output', text: 'done' }, identity),
    );

  test('of a tool that changes something is the outcome of its call; of a read tool, nobody records it', async () => {
    const { store } = stored;
    const intent = { key: 'run/call', tool: 'look', inputDigest: 'd', startedAtMs: 0 };
    await store.beginTool(intent);
    const read = await keep('read');
    expect(await store.getTool('run/call')).toMatchObject({ type: 'begun' });
    const changing = await keep('irreversible');
    expect(changing).toEqual(read);
    expect(await store.getTool('run/call')).toMatchObject({ outcome: JSON.stringify(changing) });
  });

  test('of a local call whose store is down is left to an ordinary one', async () => {
    await stored.store.close();
    await expect(keep('read', true)).rejects.toMatchObject({
      failure: { code: 'store_unavailable' },
    });
  });
});

describe('a path that a rule took from an earlier call', () => {
  const fenced = (text: string): string => `<tool_output tool="find" fence="f">\n${text}\n</f>`;
  const named = async (
    content: string,
    change: Partial<ParameterOrigin> = {},
  ): Promise<boolean> => {
    const result = await stored.store.putBlob(JSON.stringify({ content, isError: false }));
    const origin = { toolCallId: 'c1', line: 1, parameter: 'path', instead: 'a.ts', result };
    return stillNames(stored.store, [], { ...origin, ...change }, 'src/a.ts', '/srv');
  };

  test('is still named by its result, in the same line and as the only one that fits', async () => {
    expect(await named(fenced('src/a.ts'))).toBe(true);
    expect(await named(fenced('/srv/src/a.ts\nsrc/b.ts'))).toBe(true);
    expect(await named(fenced('src/b.ts'))).toBe(false);
    expect(await named(fenced('\nsrc/a.ts'))).toBe(false);
    expect(await named(fenced('\nsrc/a.ts'), { line: 2 })).toBe(true);
    expect(await named(fenced('src/a.ts\nlib/a.ts'))).toBe(false);
    expect(await named(fenced('src/a.ts'), { instead: 'b.ts' })).toBe(false);
  });

  test('is still an argument of its call', async () => {
    const call = (toolCallId: string, path: string): Message => ({
      ...{ role: 'assistant', vendor: 'v', model: 'm' },
      blocks: [
        { type: 'text', text: 'src/a.ts' },
        { type: 'tool-call', toolCallId, name: 'find', input: { path, depth: 1 } },
      ],
    });
    const said: Message = { role: 'user', blocks: [{ type: 'text', text: 'src/a.ts' }] };
    const origin = { toolCallId: 'c1', line: 1, parameter: 'path', instead: 'a.ts' };
    const names = (...messages: readonly Message[]): Promise<boolean> =>
      stillNames(stored.store, messages, origin, 'src/a.ts', '/srv');
    expect(await names(said, call('c0', 'x'), call('c1', 'src/a.ts'))).toBe(true);
    expect(await names(said, call('c2', 'src/a.ts'))).toBe(false);
    expect(await names(call('c1', 'src/b.ts'))).toBe(false);
    expect(await names()).toBe(false);
  });

  test('is looked for in the whole output, without its fence and what the runtime says', async () => {
    const blob = await stored.store.putBlob('the whole');
    expect(await wholeOutput(stored.store, { content: fenced('a part'), blob })).toBe('the whole');
    expect(await wholeOutput(stored.store, { content: fenced('one\ntwo') })).toBe('one\ntwo');
    expect(await wholeOutput(stored.store, { content: `[Done.]\n${fenced('one')}` })).toBe('one');
  });
});

describe('an approved call of a tool whose definition may change', () => {
  let definition: string;
  let reads: number;
  beforeEach(() => {
    [definition, reads] = ['as approved', 0];
  });
  const remote = (read: () => Promise<void> = () => Promise.resolve()): Tool => ({
    ...look('irreversible'),
    definitionDigest: () => definition,
    readDefinition: async () => {
      reads += 1;
      await read();
    },
  });
  const approved = (): RunToolInput => {
    const before = { definitionDigest: () => 'as approved' };
    return { ...input, approvedDigest: actionDigest({ ...input, input: {} }, before) };
  };
  const check = (tool: Tool, call = approved(), store: Store = stored.store) =>
    changedDefinition(store, tool, call, {});

  test('runs if the definition is the same, as read once more', async () => {
    expect(await check(remote())).toBeUndefined();
    expect(reads).toBe(1);
  });

  test('does not run if it has changed meanwhile, and the model hears why', async () => {
    const changes = remote(() => {
      definition = 'another';
      return Promise.resolve();
    });
    expect(await check(changes)).toMatchObject({
      type: 'error',
      error: { code: 'tool_denied', message: expect.stringContaining('has changed') as string },
    });
  });

  test('is compared with what is known if the source cannot be asked', async () => {
    const away = remote(() => Promise.reject(new Error('away')));
    expect(await check(away)).toBeUndefined();
    definition = 'another';
    expect(await check(away)).toMatchObject({ error: { code: 'tool_denied' } });
  });

  test('runs without a look if nothing was approved, or the definition cannot change', async () => {
    definition = 'another';
    expect(await check(remote(), input)).toBeUndefined();
    expect(await check(look('irreversible'))).toBeUndefined();
    expect(reads).toBe(0);
  });

  test('is left to an earlier attempt that has started it, and not to one that has only begun', async () => {
    definition = 'another';
    const { store } = stored;
    const intent = { key: 'run/call', tool: 'look', inputDigest: 'd', startedAtMs: 0 };
    const claim = await store.beginTool(intent);
    if (!('owner' in claim)) throw new Error('not owned');
    expect(await check(remote())).toMatchObject({ error: { code: 'tool_denied' } });
    await store.moveTool('run/call', claim.owner, 'executing');
    expect(await check(remote())).toBeUndefined();
    await store.finishTool('run/call', '{}');
    expect(await check(remote())).toBeUndefined();
  });
});
