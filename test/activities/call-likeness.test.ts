/** What makes two calls, and two results, the same to the loop detector. */
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { callLikeness } from '../../activities/identity/call-likeness';
import { resultIdentityOf } from '../../activities/identity/result-identity';
import { defineTool } from '../../activities/tools/define-tool';
import { editedFileField, fileIdentity } from '../../activities/tools/edits-file';
import type { Tool } from '../../activities/tools/tool';
import type { JsonObject } from '../../workflows/core/json';
import { playTrace } from '../../bench/scorecard/loops/play-trace';
import { readCallTraces } from '../../bench/scorecard/loops/call-trace';
import { temporaryStore } from '../support/temporary-store';

function tool(effect: 'read' | 'irreversible', cosmetic: readonly string[] = []): Tool {
  const text = z.unknown();
  return defineTool({
    name: 'tool',
    description: 'A tool.',
    input: z.object({ mood: text, command: text, title: text, path: text, offset: text }),
    effect,
    cosmetic,
    execute: () => '',
  });
}

const keyOf = (input: JsonObject, of = tool('irreversible')): string =>
  callLikeness(of, input).fingerprint;

test.each<[string, JsonObject, JsonObject]>([
  ['order of keys', { command: 'ls', path: 'a' }, { path: 'a', command: 'ls' }],
  ['white space', { command: 'ls  -l\n' }, { command: 'ls -l' }],
  ['a label beside a command', { command: 'ls', title: 'one' }, { command: 'ls', title: 'two' }],
  ['a reason', { path: 'a', reason: 'first' }, { path: 'a', reason: 'again' }],
  ['a nonce', { path: 'a', nonce: 'x1' }, { path: 'a', nonce: 'x2' }],
  ['a counter said aloud', { command: 'echo try 1' }, { command: 'echo try 2' }],
])('%s makes no other call', (_what, one, other) => {
  expect(keyOf(one)).toBe(keyOf(other));
});

test.each<[string, JsonObject, JsonObject]>([
  ['another command', { command: 'ls a' }, { command: 'ls b' }],
  ['another title of a write', { title: 'Login fails' }, { title: 'Logout fails' }],
  [
    'a counter in the title of a write',
    { title: 'Part 1', path: 'a' },
    { title: 'Part 2', path: 'a' },
  ],
  ['another moment of a write', { path: 'a', timestamp: 1 }, { path: 'a', timestamp: 2 }],
  ['another number of a write', { path: 'a', seq: 1 }, { path: 'a', seq: 2 }],
  ['another path', { path: 'a/1' }, { path: 'a/2' }],
  ['another amount', { path: 'a', amount: 1 }, { path: 'a', amount: 2 }],
  ['an echo into a file', { command: 'echo 1 > a' }, { command: 'echo 2 > a' }],
])('%s makes another call', (_what, one, other) => {
  expect(keyOf(one)).not.toBe(keyOf(other));
});

test('a read is the same under another request id, a write with a counted caption alike in its gist', () => {
  const read = (request_id: string): string => keyOf({ path: 'a', request_id }, tool('read'));
  expect(read('x1')).toBe(read('x2'));
  const gist = (title: string, of = 'irreversible' as const): string | undefined =>
    callLikeness(tool(of), { title, path: 'a' }).alike?.gist;
  expect(gist('noop1')).toBeDefined();
  expect(gist('noop1')).toBe(gist('noop2'));
  expect(callLikeness(tool('irreversible'), { title: 'noop1' }).alike).toBeUndefined();
});

test('a declared label is none of the call', () => {
  const declared = tool('irreversible', ['mood']);
  expect(keyOf({ path: 'a', mood: 'calm' }, declared)).toBe(
    keyOf({ path: 'a', mood: 'bold' }, declared),
  );
});

test('a window moves in read tools only', () => {
  const at = (offset: number): JsonObject => ({ path: 'a', offset });
  const window = (of: Tool, offset: number): string | undefined =>
    callLikeness(of, at(offset)).alike?.window;
  expect(window(tool('read'), 1)).toBe(window(tool('read'), 900));
  expect(window(tool('irreversible'), 1)).toBeUndefined();
});

const outputOf = (text: string): string =>
  resultIdentityOf(tool('read'), {}, { type: 'output', text }).fingerprint;

test.each([
  ['at 10:00:01 queued', 'at 10:00:31 queued'],
  ['done in 1.2s', 'done in 1.4s'],
  ['{"id":1,"request_id":"req_8f3k2m1q"}', '{"id":1,"request_id":"req_9a4l3n2r"}'],
])('"%s" brings nothing new after "%s"', (one, other) => {
  expect(outputOf(one)).toBe(outputOf(other));
});

test.each([
  ['12 % done', '13 % done'],
  ['3 of 9', '4 of 9'],
  ['1048576 bytes', '2097152 bytes'],
  ['9fceb02 main', '83baae6 main'],
  ['ETA 30s', 'ETA 10s'],
])('"%s" is something new after "%s"', (one, other) => {
  expect(outputOf(one)).not.toBe(outputOf(other));
});

test('a file is one by whatever path it is called, and a path leads nowhere else', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'holdfast-files-'));
  await writeFile(path.join(root, 'a.txt'), '');
  await symlink('a.txt', path.join(root, 'link'));
  await symlink('.', path.join(root, 'here'));
  const names = ['a.txt', './a.txt', 'b/../a.txt', 'link', 'here/link', path.join(root, 'a.txt')];
  for (const name of names) expect(await fileIdentity(root, name)).toBe('a.txt');
  expect(await fileIdentity(root, 'here/new/b.txt')).toBe('new/b.txt');
  expect(await fileIdentity(root, '../../etc/hosts')).toMatch(/^hosts \(outside, /);
  expect((await fileIdentity(root, `${'x/'.repeat(900)}c.txt`)).length).toBeLessThan(200);
  await rm(root, { recursive: true });
});

test('a changing tool whose name says that it edits files is counted as one', () => {
  expect(editedFileField('fs_write_file', 'irreversible', ['path', 'content'])).toBe('path');
  expect(editedFileField('fs_read_file', 'read', ['path'])).toBeUndefined();
  expect(editedFileField('update_page', 'irreversible', ['path'])).toBeUndefined();
});

/** Written in an audit; 12 of them failed at first (ADR 0019). */
const heldOut = readCallTraces(path.join(__dirname, 'fixtures', 'held-out-traces.jsonl'));

test('traces that the detector was not made for are told apart too', async () => {
  const stored = await temporaryStore();
  const wrong: string[] = [];
  for (const trace of heldOut) {
    const { endedBy, warned } = await playTrace(stored.store, trace);
    const isLoop = trace.label === 'loop';
    if (isLoop !== (endedBy === 'guard_loop') || (!isLoop && warned)) wrong.push(trace.id);
  }
  expect(wrong).toEqual([]);
  await stored.dispose();
});

test('traces of each kind are told apart through the real intake', async () => {
  const stored = await temporaryStore();
  const traces = readCallTraces();
  const ends = async (id: string): Promise<string | undefined> => {
    const trace = traces.find((candidate) => candidate.id === id);
    if (trace === undefined) throw new Error(`no trace ${id}`);
    return (await playTrace(stored.store, trace)).endedBy;
  };
  expect(await ends('loop-noop-title')).toBe('guard_loop');
  expect(await ends('loop-shifted-window')).toBe('guard_loop');
  expect(await ends('polling-paging')).toBeUndefined();
  expect(await ends('polling-sleep-and-look')).toBeUndefined();
  expect(await ends('outage-curl')).toBeUndefined();
  await stored.dispose();
});
