/**
 * Names and texts of composed and decomposed letters look alike and are taken for one where only one is there (ADR 0044). Case
 * t2-files-01, and inputs from public reports: zed-industries/zed#30503 (grössen.md, Hangul), owncloud/core#21365,
 * droppyjs/droppy#72, macos-fuse-t/fuse-t#16 (é), oflisback/obsidian-bridge.nvim#43 (a second file beside the first).
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileIdentity } from '../../activities/tools/edits-file';
import { deleteFile } from '../../activities/tools/workspace/delete-file';
import { editFile } from '../../activities/tools/workspace/edit-file';
import { listFiles } from '../../activities/tools/workspace/list-files';
import { matchesOf } from '../../activities/tools/workspace/match-text';
import { readFile } from '../../activities/tools/workspace/read-file';
import { searchFiles } from '../../activities/tools/workspace/search-files';
import { writeFile } from '../../activities/tools/workspace/write-file';
import { fittingPaths } from '../../workflows/core/recovery/memory';
import type { Tool } from '../../activities/tools/tool';
import { recordedCase } from '../support/recorded-case';
import { callTool, makeWorkspace, toolErrorOf } from './tool-context';
import type { TestWorkspace } from './tool-context';

const composed = (text: string): string => text.normalize('NFC');
const decomposed = (text: string): string => text.normalize('NFD');

let ws: TestWorkspace;
const use = (files: Readonly<Record<string, string | Buffer>>): void => {
  ws = makeWorkspace(files);
};
const call = (tool: Tool, input: unknown): Promise<string> => callTool(tool, input, ws.context);

afterEach(() => {
  ws.remove();
});

const recorded = recordedCase('t2-files-01');

describe.each([
  ...Object.keys(recorded.input.files),
  'grössen.md',
  'é/é/é.txt',
  '한글 폴더/문서.md',
  'Ångström/データ.md',
])('%s', (name) => {
  const given = composed(name);
  const onDisk = decomposed(name);

  test('is read, edited, written, listed, searched and deleted by its composed name', async () => {
    use({ [onDisk]: 'eins zwei\n' });
    const [top = ''] = onDisk.split('/');
    const entries = readdirSync(ws.root);
    expect(await call(readFile, { path: given })).toContain('eins zwei');
    await call(editFile, { path: given, old_text: 'eins', new_text: 'one' });
    expect(await call(searchFiles, { query: 'one', path: given })).toContain(':1: one zwei');
    expect(await call(writeFile, { path: given, content: 'new' })).toContain('Replaced');
    expect(readFileSync(join(ws.root, onDisk), 'utf8')).toBe('new');
    expect(readdirSync(ws.root)).toEqual(entries);
    expect(entries).toEqual([top]);
    expect(entries).toHaveLength(recorded.expect.checks.folders ?? 0);
    expect(await fileIdentity(ws.root, given)).toBe(await fileIdentity(ws.root, onDisk));
    await call(deleteFile, { path: given });
    expect(existsSync(join(ws.root, onDisk))).toBe(false);
  });
});

test('a new file goes into the folder that is there', async () => {
  use({ [decomposed('Büro/plan.md')]: 'x' });
  await call(writeFile, { path: composed('Büro/neu/ö.md'), content: 'y' });
  expect(readdirSync(ws.root)).toEqual([decomposed('Büro')]);
  expect(await call(listFiles, { path: composed('Büro') })).toContain(`${decomposed('Büro')}/neu/`);
});

test('with both there, the exact one counts, and of two others none is guessed', async () => {
  use({});
  mkdirSync(join(ws.root, 'a'));
  writeFileSync(join(ws.root, 'a', composed('é')), 'composed');
  writeFileSync(join(ws.root, 'a', decomposed('é')), 'decomposed');
  if (readdirSync(join(ws.root, 'a')).length < 2) return;
  expect(await call(readFile, { path: composed('a/é') })).toContain('composed');
  expect(await call(readFile, { path: decomposed('a/é') })).toContain('decomposed');
  // Two marks in another order: a third form of the same letters.
  const first = 'a/q\u0323\u0307';
  const second = 'a/q\u0307\u0323';
  writeFileSync(join(ws.root, first), '1');
  writeFileSync(join(ws.root, second), '2');
  expect(await call(readFile, { path: first })).toContain('1');
});

test('a wrong folder is told with the name that is there, and recovery finds it', async () => {
  use({ [decomposed('docs/Büro.md')]: 'x' });
  const error = await toolErrorOf(call(readFile, { path: composed('src/Büro.md') }));
  expect(composed(error.message)).toContain('Files of that name: "docs/Büro.md"');
  expect(fittingPaths([decomposed('docs/Büro.md')], composed('Büro.md'))).toHaveLength(1);
});

test('texts are found and replaced whatever form they have in the file', async () => {
  use({ 'a.md': decomposed('Die Größe der Bäume\r\nist 한글 groß.\r\n') });
  expect(await call(searchFiles, { query: composed('Bäume') })).toContain('a.md:1:');
  expect(await call(searchFiles, { query: composed('ä.me'), regex: true })).toContain('a.md:1:');
  await call(editFile, {
    path: 'a.md',
    old_text: composed('Bäume\nist 한글'),
    new_text: 'trees\nare',
  });
  expect(readFileSync(join(ws.root, 'a.md'), 'utf8')).toBe(
    decomposed('Die Größe der ') + 'trees\r\nare' + decomposed(' groß.\r\n'),
  );
});

test('a text that ends within a letter is none', () => {
  expect(matchesOf(decomposed('Bär'), 'Ba')).toEqual([{ at: 0, length: 2 }]);
  expect(matchesOf(decomposed('xBä'), composed('ä'))).toEqual([{ at: 2, length: 2 }]);
  expect(matchesOf(decomposed('äää'), composed('ää'))).toHaveLength(2);
  expect(matchesOf('plain', 'ä')).toEqual([]);
});

test('an absolute path or an address that a program printed works, through a link to the workspace too', async () => {
  use({ [decomposed('Büro.md')]: 'x' });
  expect(await call(readFile, { path: join(ws.root, composed('Büro.md')) })).toContain('x');
  expect(await call(readFile, { path: `file://${ws.root}/B%C3%BCro.md` })).toContain('x');
});
