/** Nothing that the model writes, and nothing that changes meanwhile, leads out of the workspace. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
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
    expect(error.message).toContain('link that cannot be followed');
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
  });
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
    expect(error.message).toContain('not a regular file');
    expect(await callTool(searchFiles, { query: 'zzz' }, ws.context)).toContain('Nothing matches');
  });

  test('names with blanks, quotes, colons and line breaks are plain names', async () => {
    for (const name of ['a b.txt', 'a"b.txt', 'a:1: b.txt', '-rf', 'é.txt']) {
      await callTool(writeFile, { path: name, content: name }, ws.context);
      expect(readFileSync(join(ws.root, name), 'utf8')).toBe(name);
    }
  });
});

/** Calls that change a file, with that path. */
const everyChange = (path: string): readonly (() => Promise<string>)[] => [
  () => callTool(editFile, { path, old_text: 'inside', new_text: 'x' }, ws.context),
  () => callTool(writeFile, { path, content: 'x' }, ws.context),
  () => callTool(deleteFile, { path }, ws.context),
];

describe('files with a second name outside', () => {
  test.each([
    [
      'edit_file',
      () => callTool(editFile, { path: 'h', old_text: 'OUT', new_text: 'IN' }, ws.context),
    ],
    ['write_file', () => callTool(writeFile, { path: 'h', content: 'mine' }, ws.context)],
    ['delete_file', () => callTool(deleteFile, { path: 'h' }, ws.context)],
  ])('%s changes the name inside, never the file outside', async (_tool, change) => {
    linkSync(join(ws.outside, 'secret.txt'), join(ws.root, 'h'));
    await change();
    untouched();
  });
});

describe("git's own folder", () => {
  beforeEach(() => {
    mkdirSync(join(ws.root, '.git/hooks'), { recursive: true });
    symlinkSync('.git', join(ws.root, 'g'));
    symlinkSync('.git/hooks/pre-commit', join(ws.root, 'hook'));
  });

  test.each([
    '.git/hooks/pre-commit',
    'g/hooks/pre-commit',
    'g/config',
    'hook',
    'src/../.git/config',
    '.git::$INDEX_ALLOCATION/config',
    '.Git /config',
  ])('is not written by %j', async (path) => {
    const error = await toolErrorOf(callTool(writeFile, { path, content: 'x' }, ws.context));
    expect(error.code).toBe('tool_denied');
    expect(readdirSync(join(ws.root, '.git'), { recursive: true })).toEqual(['hooks']);
  });

  test('gets no folder by way of a link either', async () => {
    const path = 'g/hooks2/deep/post-checkout';
    const error = await toolErrorOf(callTool(writeFile, { path, content: 'x' }, ws.context));
    expect(error.code).toBe('tool_denied');
    expect(readdirSync(join(ws.root, '.git'))).toEqual(['hooks']);
  });

  test('loses no file by way of a link', async () => {
    writeFileSync(join(ws.root, '.git/config'), 'inside');
    for (const call of everyChange('g/config'))
      expect((await toolErrorOf(call())).code).toBe('tool_denied');
    expect(readFileSync(join(ws.root, '.git/config'), 'utf8')).toBe('inside');
  });
});

describe('what is no regular text file', () => {
  test.each<[string, (path: string) => Promise<void> | void]>([
    [
      'a pipe',
      (path) => {
        execFileSync('mkfifo', [path]);
      },
    ],
    [
      'a socket',
      (path) =>
        new Promise((resolve) => {
          const server = createServer();
          server.listen(path, () => {
            server.unref();
            resolve();
          });
        }),
    ],
  ])('%s is neither read nor written, and nothing waits for it', async (_what, make) => {
    await make(join(ws.root, 'odd'));
    for (const call of [
      () => callTool(readFile, { path: 'odd' }, ws.context),
      () => callTool(editFile, { path: 'odd', old_text: 'a', new_text: 'b' }, ws.context),
      () => callTool(writeFile, { path: 'odd', content: 'x' }, ws.context),
    ])
      expect((await toolErrorOf(call())).message).toContain('not a regular file');
    expect(await callTool(listFiles, {}, ws.context)).toContain('odd');
  });

  test('a file of many gigabytes is neither read nor replaced, and costs no memory', async () => {
    writeFileSync(join(ws.root, 'huge.txt'), '');
    truncateSync(join(ws.root, 'huge.txt'), 6 * 1024 ** 3);
    const before = process.memoryUsage().rss;
    for (const call of [
      () => callTool(readFile, { path: 'huge.txt' }, ws.context),
      () => callTool(editFile, { path: 'huge.txt', old_text: 'a', new_text: 'b' }, ws.context),
      () => callTool(writeFile, { path: 'huge.txt', content: 'x' }, ws.context),
    ])
      expect((await toolErrorOf(call())).message).toContain('bytes');
    expect(await callTool(searchFiles, { query: 'inside' }, ws.context)).toContain('files skipped');
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  test('a file that grows while it is read is read up to the limit', async () => {
    const path = join(ws.root, 'log.txt');
    writeFileSync(path, 'x\n');
    const writer = new Worker(
      `const fs = require('node:fs');
       const { workerData } = require('node:worker_threads');
       const file = fs.openSync(workerData, 'a');
       const chunk = 'grows and grows\\n'.repeat(65536);
       for (let n = 0; n < 40; n++) fs.writeSync(file, chunk);`,
      { eval: true, workerData: path },
    );
    const ended = once(writer, 'exit');
    for (let n = 0; n < 20; n++) {
      const [read] = await Promise.allSettled([
        callTool(readFile, { path: 'log.txt' }, ws.context),
      ]);
      if (read.status === 'rejected') expect(read.reason).toBeInstanceOf(ToolError);
    }
    await ended;
    expect(
      (await toolErrorOf(callTool(readFile, { path: 'log.txt' }, ws.context))).message,
    ).toMatch(/has \d+ bytes/);
  });

  test.each([
    ['Latin-1', Buffer.from('caf\u00e9', 'latin1')],
    [
      'half a unit of UTF-16',
      Buffer.concat([Buffer.from('\ufeffhello', 'utf16le'), Buffer.from([0])]),
    ],
    ['half a character', Buffer.from([0x61, 0xc3])],
    ['bytes', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2])],
  ])('%s is refused by name, and stays as it is', async (_what, bytes) => {
    writeFileSync(join(ws.root, 'odd'), bytes);
    for (const call of [
      () => callTool(readFile, { path: 'odd' }, ws.context),
      () => callTool(editFile, { path: 'odd', old_text: 'a', new_text: 'b' }, ws.context),
      () => callTool(writeFile, { path: 'odd', content: 'x' }, ws.context),
    ])
      expect((await toolErrorOf(call())).message).toMatch(/not UTF-8 or UTF-16 text/);
    expect(readFileSync(join(ws.root, 'odd'))).toEqual(bytes);
  });
});

describe('names', () => {
  test('that are no UTF-8 stop neither a list nor a search', async () => {
    writeFileSync(
      Buffer.concat([Buffer.from(`${ws.root}/`), Buffer.from([0x66, 0xff, 0x6f])]),
      'inside',
    );
    expect(await callTool(listFiles, {}, ws.context)).toContain('b.txt');
    expect(await callTool(searchFiles, { query: 'inside' }, ws.context)).toContain(
      'b.txt:1: inside',
    );
  });

  test.each(['x'.repeat(300), `${'d/'.repeat(1_500)}x`])(
    'that are too long are refused: %#',
    async (path) => {
      for (const call of [() => callTool(readFile, { path }, ws.context), ...everyChange(path)])
        expect(await toolErrorOf(call())).toBeInstanceOf(ToolError);
    },
  );

  test.each(['src\\new.ts', '..\\outside\\new.txt', '\\\\server\\share\\x', 'C:\\Windows\\x'])(
    'in the manner of Windows are not made: %j',
    async (path) => {
      const error = await toolErrorOf(callTool(writeFile, { path, content: 'x' }, ws.context));
      expect(error.hint).toContain('"/" between its parts');
      expect(readdirSync(ws.root).sort()).toEqual(['b.txt', 'src']);
      untouched();
    },
  );

  test('in another case are another file here, and one file for the guard where the disk folds them', async () => {
    await callTool(writeFile, { path: 'B.TXT', content: 'other' }, ws.context);
    const isFolded = readFileSync(join(ws.root, 'b.txt'), 'utf8') === 'other';
    expect(readdirSync(ws.root).filter((name) => /^b\.txt$/i.test(name))).toHaveLength(
      isFolded ? 1 : 2,
    );
  });
});

test('bits by which a file runs as its owner do not outlive an edit, as they would not a plain write', async () => {
  chmodSync(join(ws.root, 'b.txt'), 0o6755);
  await callTool(editFile, { path: 'b.txt', old_text: 'inside', new_text: 'new' }, ws.context);
  expect(statSync(join(ws.root, 'b.txt')).mode & 0o7777).toBe(0o755);
});

test('stays inside while a file is swapped for a link out all the time', async () => {
  const swapper = new Worker(
    `const fs = require('node:fs');
     const { parentPort, workerData: { root, outside } } = require('node:worker_threads');
     let swaps = 0, isOver = false;
     parentPort.on('message', () => { isOver = true; });
     const turn = () => {
       for (let n = 0; n < 50; n++) {
         fs.rmSync(root + '/t', { force: true });
         fs.symlinkSync(outside + '/secret.txt', root + '/t');
         fs.renameSync(root + '/t', root + '/swap');
         fs.writeFileSync(root + '/t', 'inside');
         fs.renameSync(root + '/t', root + '/swap');
         swaps++;
       }
       if (isOver) parentPort.postMessage(swaps); else setImmediate(turn);
     };
     turn();`,
    { eval: true, workerData: { root: ws.root, outside: ws.outside } },
  );
  let inside = 0;
  const path = 'swap';
  for (let n = 0; n < 200; n++) {
    const answers = await Promise.allSettled([
      callTool(readFile, { path }, ws.context),
      callTool(writeFile, { path, content: 'inside' }, ws.context),
      callTool(editFile, { path, old_text: 'inside', new_text: 'inside, edited' }, ws.context),
    ]);
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toBeInstanceOf(ToolError);
      else {
        expect(answer.value).not.toContain('OUTSIDE');
        inside += 1;
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
  expect(swaps).toBeGreaterThan(50);
  untouched();
});
