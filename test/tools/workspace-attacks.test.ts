/** Nothing that the model writes, and nothing that changes meanwhile, leads out of the workspace. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { deleteFile } from '../../activities/tools/workspace/delete-file';
import { editFile } from '../../activities/tools/workspace/edit-file';
import { listFiles } from '../../activities/tools/workspace/list-files';
import { readFile } from '../../activities/tools/workspace/read-file';
import { searchFiles } from '../../activities/tools/workspace/search-files';
import { writeFile } from '../../activities/tools/workspace/write-file';
import { ToolError } from '../../activities/tools/tool-error';
import { callTool, makeWorkspace, toolErrorOf } from './tool-context';
import type { TestWorkspace } from './tool-context';

let ws: TestWorkspace;

beforeEach(() => {
  ws = makeWorkspace({ 'src/a.ts': 'inside', 'b.txt': 'inside' });
});
afterEach(() => {
  ws.remove();
});

const untouched = (): void => {
  expect(readFileSync(join(ws.outside, 'secret.txt'), 'utf8')).toBe('OUTSIDE');
  expect(readdirSync(ws.outside)).toEqual(['secret.txt']);
};

/** All tools that take a path, with that path. */
const everyTool = (path: string): readonly (() => Promise<string>)[] => [
  () => callTool(readFile, { path }, ws.context),
  () => callTool(editFile, { path, old_text: 'OUTSIDE', new_text: 'x' }, ws.context),
  () => callTool(writeFile, { path, content: 'x' }, ws.context),
  () => callTool(deleteFile, { path }, ws.context),
  () => callTool(listFiles, { path }, ws.context),
  () => callTool(searchFiles, { path, query: 'OUTSIDE' }, ws.context),
];

describe('paths', () => {
  test.each([
    '../outside/secret.txt',
    'src/../../outside/secret.txt',
    './/src/./../../outside/secret.txt',
    '/etc/passwd',
    '/etc/../etc/passwd',
    '//etc/passwd',
    'src\0/../../outside/secret.txt',
    'b.txt\0.png',
    'x'.repeat(5_000),
    'C:/Windows/win.ini',
  ])('refuses %j in every tool', async (path) => {
    for (const call of everyTool(path)) {
      expect((await toolErrorOf(call())).code).toBe('invalid_params');
    }
    untouched();
  });

  test('refuses an absolute path beside the root that begins like it', async () => {
    const error = await toolErrorOf(callTool(readFile, { path: `${ws.root}2/a` }, ws.context));
    expect(error.message).toContain('outside of the workspace');
  });

  test('takes an absolute path inside, and ".." that stays inside', async () => {
    expect(await callTool(readFile, { path: join(ws.root, 'b.txt') }, ws.context)).toContain(
      'inside',
    );
    expect(await callTool(readFile, { path: 'src/../b.txt' }, ws.context)).toContain(
      'b.txt, lines',
    );
  });

  test.each([
    '%2e%2e/outside/secret.txt',
    '..\\outside\\secret.txt',
    '．．/outside/secret.txt',
    '~/x',
  ])('takes %j for a plain name that does not exist', async (path) => {
    await toolErrorOf(callTool(readFile, { path }, ws.context));
    untouched();
  });
});

describe('links', () => {
  test.each<[string, (root: string, outside: string) => void, string]>([
    [
      'to a file',
      (root, outside) => {
        symlinkSync(join(outside, 'secret.txt'), join(root, 'l'));
      },
      'l',
    ],
    [
      'to a folder',
      (root, outside) => {
        symlinkSync(outside, join(root, 'l'));
      },
      'l/secret.txt',
    ],
    [
      'relative',
      (root) => {
        symlinkSync('../outside/secret.txt', join(root, 'l'));
      },
      'l',
    ],
    [
      'in two steps',
      (root, outside) => {
        symlinkSync('m', join(root, 'l'));
        symlinkSync(outside, join(root, 'm'));
      },
      'l/secret.txt',
    ],
    [
      'to a new file',
      (root, outside) => {
        symlinkSync(join(outside, 'new.txt'), join(root, 'l'));
      },
      'l',
    ],
    [
      'to /proc',
      (root) => {
        symlinkSync('/proc/self/environ', join(root, 'l'));
      },
      'l',
    ],
  ])('refuses a link out: %s', async (_what, make, path) => {
    make(ws.root, ws.outside);
    for (const tool of [
      () => callTool(readFile, { path }, ws.context),
      () => callTool(writeFile, { path, content: 'x' }, ws.context),
      () => callTool(editFile, { path, old_text: 'OUTSIDE', new_text: 'x' }, ws.context),
    ]) {
      expect((await toolErrorOf(tool())).message).toContain('leads out of the workspace');
    }
    untouched();
  });

  test('follows links that stay inside, and edits the file behind them', async () => {
    symlinkSync('src', join(ws.root, 'dirlink'));
    symlinkSync('dirlink/a.ts', join(ws.root, 'filelink'));
    expect(await callTool(readFile, { path: 'filelink' }, ws.context)).toContain('src/a.ts, lines');
    await callTool(editFile, { path: 'filelink', old_text: 'inside', new_text: 'new' }, ws.context);
    expect(readFileSync(join(ws.root, 'src/a.ts'), 'utf8')).toBe('new');
  });

  test('ends at a link that leads to itself', async () => {
    symlinkSync('loop', join(ws.root, 'loop'));
    const error = await toolErrorOf(callTool(readFile, { path: 'loop/x' }, ws.context));
    expect(error.message).toContain('too many links');
  });

  test('deletes a link, not what it leads to', async () => {
    symlinkSync(join(ws.outside, 'secret.txt'), join(ws.root, 'l'));
    expect(await callTool(deleteFile, { path: 'l' }, ws.context)).toBe('Deleted l.');
    untouched();
  });

  test('lists and searches without entering links', async () => {
    symlinkSync(ws.outside, join(ws.root, 'l'));
    expect(await callTool(listFiles, {}, ws.context)).not.toContain('secret');
    expect(await callTool(searchFiles, { query: 'OUTSIDE' }, ws.context)).not.toContain('OUTSIDE:');
    expect(await callTool(searchFiles, { query: 'OUTSIDE' }, ws.context)).toContain(
      'Nothing matches',
    );
  });

  test('stays inside while another process swaps a folder for a link all the time', async () => {
    mkdirSync(join(ws.root, 'swap'));
    mkdirSync(join(ws.root, 'swap/deep'));
    execFileSync(
      'sh',
      [
        '-c',
        'echo inside > swap/deep/secret.txt; mkdir ../outside/deep; echo OUTSIDE > ../outside/deep/secret.txt',
      ],
      { cwd: ws.root },
    );
    const swapper = new Worker(
      `const fs = require('node:fs');
       const { parentPort, workerData: { root, outside } } = require('node:worker_threads');
       let swaps = 0, isOver = false;
       parentPort.on('message', () => { isOver = true; });
       const turn = () => {
         for (let n = 0; n < 20; n++) {
           try {
             fs.renameSync(root + '/swap', root + '/aside');
             fs.symlinkSync(outside, root + '/swap');
             swaps++;
           } catch { /* write_file made the folder anew */ }
           try {
             fs.rmSync(root + '/swap', { recursive: true, force: true });
             fs.renameSync(root + '/aside', root + '/swap');
           } catch { /* write_file put a file into it meanwhile: the next turn clears it */ }
         }
         if (isOver) parentPort.postMessage(swaps); else setImmediate(turn);
       };
       turn();`,
      { eval: true, workerData: { root: ws.root, outside: ws.outside } },
    );
    let inside = 0;
    const path = 'swap/deep/secret.txt';
    for (let n = 0; n < 150; n++) {
      const answers = await Promise.allSettled([
        callTool(readFile, { path }, ws.context),
        callTool(writeFile, { path, content: 'inside\n' }, ws.context),
      ]);
      for (const answer of answers) {
        if (answer.status === 'fulfilled') {
          expect(answer.value).not.toContain('OUTSIDE');
          inside += 1;
        } else {
          expect(answer.reason).toBeInstanceOf(ToolError);
        }
      }
    }
    const swaps = await new Promise<number>((resolve, reject) => {
      swapper.once('error', reject);
      swapper.once('message', resolve);
      swapper.postMessage('end');
    });
    await swapper.terminate();
    expect(inside).toBeGreaterThan(0);
    expect(swaps).toBeGreaterThan(20);
    expect(readFileSync(join(ws.outside, 'deep/secret.txt'), 'utf8')).toBe('OUTSIDE\n');
  }, 120_000);
});

describe('special places', () => {
  test.each([
    '.git/hooks/pre-commit',
    '.GIT/config',
    '.git./config',
    'sub/.git/config',
    '.g\u200bit/config',
    'git~1/config',
  ])('refuses to write %j', async (path) => {
    const error = await toolErrorOf(callTool(writeFile, { path, content: 'x' }, ws.context));
    expect(error).toMatchObject({ code: 'tool_denied', recoverable: false });
    expect(existsSync(join(ws.root, path))).toBe(false);
  });

  test('does not wait for a pipe', async () => {
    execFileSync('mkfifo', [join(ws.root, 'pipe')]);
    const error = await toolErrorOf(callTool(readFile, { path: 'pipe' }, ws.context));
    expect(error.message).toContain('no regular file');
    expect(await callTool(searchFiles, { query: 'zzz' }, ws.context)).toContain('Nothing matches');
  });

  test('names with blanks, quotes, colons and line breaks are plain names', async () => {
    for (const name of ['a b.txt', 'a"b.txt', 'a:1: b.txt', '-rf', 'é.txt', 'e\u0301.txt']) {
      await callTool(writeFile, { path: name, content: name }, ws.context);
      expect(readFileSync(join(ws.root, name), 'utf8')).toBe(name);
    }
  });
});
