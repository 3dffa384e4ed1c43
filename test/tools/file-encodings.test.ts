/**
 * Files of UTF-16 are read, searched, edited and written in their encoding (ADR 0044). Inputs from
 * wonderwhy-er/DesktopCommanderMCP#610 (PowerShell 5.1 redirection), openclaw/openclaw#133129, mpfaffenberger/code_puppy#778.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { editFile } from '../../activities/tools/workspace/edit-file';
import { readFile } from '../../activities/tools/workspace/read-file';
import { searchFiles } from '../../activities/tools/workspace/search-files';
import { writeFile } from '../../activities/tools/workspace/write-file';
import { callTool, makeWorkspace } from './tool-context';

const little = (text: string): Buffer => Buffer.from(text, 'utf16le');
const big = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

test.each<readonly [string, (text: string) => Buffer, string]>([
  ['UTF-16 with a mark', little, '\ufeff'],
  ['UTF-16 of the other order', big, '\ufeff'],
  ['UTF-16 without a mark', little, ''],
  ['UTF-8 with a mark', (text) => Buffer.from(text), '\ufeff'],
])('%s', async (_what, encoded, mark) => {
  const workspace = makeWorkspace({ 'out.txt': encoded(`${mark}alpha\r\nbeta größer\r\n`) });
  try {
    const { context, root } = workspace;
    expect(await callTool(readFile, { path: 'out.txt' }, context)).toBe(
      'out.txt, lines 1-2 of 2:\nalpha\nbeta größer',
    );
    expect(await callTool(searchFiles, { query: 'größer' }, context)).toContain(
      'out.txt:2: beta größer',
    );
    await callTool(editFile, { path: 'out.txt', old_text: 'alpha', new_text: 'one\ntwo' }, context);
    const bytes = (): Buffer => readFileSync(join(root, 'out.txt'));
    expect(bytes()).toEqual(encoded(`${mark}one\r\ntwo\r\nbeta größer\r\n`));
    await callTool(writeFile, { path: 'out.txt', content: 'new\n' }, context);
    expect(bytes()).toEqual(encoded(`${mark}new\r\n`));
  } finally {
    workspace.remove();
  }
});
