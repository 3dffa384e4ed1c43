/** No file tool reaches what git or Holdfast itself lives on, and what programs run later a person sees first. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { protectPath } from '../../activities/lifecycle/protected-paths';
import { openStore } from '../../activities/stores/open-store';
import { deleteFile } from '../../activities/tools/workspace/delete-file';
import { editFile } from '../../activities/tools/workspace/edit-file';
import { listFiles } from '../../activities/tools/workspace/list-files';
import { readFile } from '../../activities/tools/workspace/read-file';
import { searchFiles } from '../../activities/tools/workspace/search-files';
import { workspaceTools } from '../../activities/tools/workspace/workspace-tools';
import { writeFile } from '../../activities/tools/workspace/write-file';
import { approvalContext, callTool, makeWorkspace, toolErrorOf } from './tool-context';
import type { TestWorkspace } from './tool-context';

let ws: TestWorkspace;

beforeEach(() => {
  ws = makeWorkspace({ 'src/a.ts': 'inside' });
});
afterEach(() => {
  ws.remove();
});

const at = (path: string): string => join(ws.root, path);

const changes = (path: string): readonly (() => Promise<string>)[] => [
  () => callTool(writeFile, { path, content: 'x' }, ws.context),
  () => callTool(editFile, { path, old_text: 'precious', new_text: 'x' }, ws.context),
  () => callTool(deleteFile, { path }, ws.context),
];

async function isDenied(calls: readonly (() => Promise<string>)[]): Promise<void> {
  for (const call of calls) expect((await toolErrorOf(call())).code).toBe('tool_denied');
}

describe('protected paths', () => {
  beforeEach(() => {
    mkdirSync(at('var/state'), { recursive: true });
    writeFileSync(at('var/state/temporal.db'), 'precious');
    writeFileSync(at('agents.cjs'), 'precious');
    protectPath(at('var/state'));
    protectPath(at('agents.cjs'));
  });

  test.each([
    'agents.cjs',
    'var/state/temporal.db',
    'var/../var/state/temporal.db',
    './agents.cjs',
  ])('%s is neither read nor changed, by its name or a link to it', async (path) => {
    symlinkSync(at(path), at('link'));
    symlinkSync(at('var'), at('linked-folder'));
    for (const name of [path, 'link', path.replace(/.*var\//, 'linked-folder/')])
      await isDenied([
        () => callTool(readFile, { path: name }, ws.context),
        ...changes(name).slice(0, 2),
      ]);
    await isDenied(changes(path));
    expect(readFileSync(at(path), 'utf8')).toBe('precious');
  });

  test('their contents are in no list, search or hint', async () => {
    expect(await callTool(searchFiles, { query: 'precious' }, ws.context)).not.toMatch(
      /^\S+:\d+:/m,
    );
    const listed = await callTool(listFiles, { include_ignored: true }, ws.context);
    expect(listed).toContain('var/state/');
    expect(listed).not.toContain('temporal.db');
    const error = await toolErrorOf(callTool(readFile, { path: 'temporal.db' }, ws.context));
    expect(error.message).not.toContain('var/state');
    await isDenied([() => callTool(listFiles, { path: 'var/state' }, ws.context)]);
  });

  test('a protected folder that holds the workspace hides nothing of it but what is protected by itself', async () => {
    protectPath(join(ws.root, '..'));
    protectPath(ws.root);
    expect(await callTool(readFile, { path: 'src/a.ts' }, ws.context)).toContain('inside');
    await isDenied(changes('agents.cjs'));
  });

  test('a file that is not there yet is not made', async () => {
    await isDenied([
      () => callTool(writeFile, { path: 'var/state/new/deep.txt', content: 'x' }, ws.context),
    ]);
    expect(existsSync(at('var/state/new'))).toBe(false);
  });

  test('an open store protects its file and what SQLite puts beside it, readable by its user alone', async () => {
    const store = await openStore(`sqlite:${at('data/holdfast.db')}`);
    try {
      await store.putBlob('x');
      for (const file of ['data/holdfast.db', 'data/holdfast.db-wal', 'data/holdfast.db-shm']) {
        await isDenied(changes(file));
        expect(statSync(at(file)).mode & 0o777).toBe(0o600);
      }
      expect(statSync(at('data')).mode & 0o777).toBe(0o700);
      await isDenied(changes('data/holdfast.db-journal').slice(0, 1));
      expect(
        await callTool(writeFile, { path: 'data/holdfast.txt', content: 'x' }, ws.context),
      ).toMatch(/^Created/);
    } finally {
      await store.close();
    }
  });
});

describe('repositories of git', () => {
  /** What an attacker needs: git runs `core.fsmonitor` of a repository that it finds. */
  const config = '[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ../ran; false"\n';

  test.each(['ref: refs/heads/main\n', `${'a1'.repeat(20)}\n`])(
    'none is planted (HEAD is %j)',
    async (head) => {
      const write = (path: string, content: string): Promise<string> =>
        callTool(writeFile, { path, content }, ws.context);
      await write('docs/config', config);
      await write('docs/objects/x', 'x');
      await write('docs/refs/heads/x.txt', 'x');
      await isDenied([() => write('docs/HEAD', head)]);
      await write('docs/HEAD', 'A chapter about heads\n');
      await isDenied([
        () =>
          callTool(
            editFile,
            { path: 'docs/HEAD', old_text: 'A chapter about heads\n', new_text: head },
            ws.context,
          ),
      ]);
      spawnSync('git', ['status', '--short'], { cwd: at('docs') });
      expect(existsSync(at('ran'))).toBe(false);
    },
  );

  test('one that is there under another name is not changed', async () => {
    spawnSync('git', ['init', '--bare', '--quiet', at('vendor/tool.git')]);
    const before = readFileSync(at('vendor/tool.git/config'), 'utf8');
    await isDenied(changes('vendor/tool.git/config'));
    await isDenied(changes('vendor/tool.git/hooks/pre-commit').slice(0, 1));
    expect(readFileSync(at('vendor/tool.git/config'), 'utf8')).toBe(before);
    expect(await callTool(readFile, { path: 'vendor/tool.git/config' }, ws.context)).toContain(
      'bare',
    );
  });

  test('.git is not read either: its config holds credentials', async () => {
    mkdirSync(at('.git'));
    writeFileSync(at('.git/config'), 'precious');
    symlinkSync(at('.git/config'), at('innocent'));
    for (const path of ['.git/config', '.GIT/config', 'innocent'])
      expect((await toolErrorOf(callTool(readFile, { path }, ws.context))).message).not.toContain(
        'precious',
      );
    expect(
      await callTool(searchFiles, { query: 'precious', include_ignored: true }, ws.context),
    ).not.toMatch(/^\S+:\d+:/m);
  });
});

describe('files that programs run later', () => {
  const asks = (path: string, options = {}): boolean => {
    const [tool] = workspaceTools(options).filter(({ name }) => name === 'write_file');
    const context = approvalContext({ workspace: ws.root });
    return tool?.needsApproval({ path, content: 'x' }, context) ?? false;
  };

  test.each([
    '.husky/pre-commit',
    'sub/.husky/_/x',
    '.github/workflows/ci.yml',
    '.vscode/tasks.json',
    'app/.idea/workspace.xml',
    '.envrc',
    '.npmrc',
    'package.json',
    'packages/x/package.json',
    'node_modules/.bin/tsc',
    'node_modules/zod/index.js',
    '.gitlab-ci.yml',
    'x.code-workspace',
    './.HUSKY/pre-commit',
    'src/../.envrc',
    '.claude/settings.json',
  ])('%s waits for a person', (path) => {
    expect(asks(path)).toBe(true);
    expect(asks(path, { asksFirst: false })).toBe(false);
  });

  test.each([
    'src/a.ts',
    'docs/package.json.md',
    '.github/CODEOWNERS',
    'husky/readme.md',
    'README.md',
    '../outside/.npmrc',
    'test/envrc.test.ts',
  ])('%s does not', (path) => {
    expect(asks(path)).toBe(false);
  });

  test('a link hides none of them', async () => {
    mkdirSync(at('.husky'));
    writeFileSync(at('.husky/pre-commit'), 'precious');
    symlinkSync(at('.husky/pre-commit'), at('notes.txt'));
    symlinkSync(at('.husky'), at('notes'));
    const write = (path: string): Promise<string> =>
      callTool(writeFile, { path, content: 'x' }, ws.context);
    await isDenied([() => write('notes.txt'), () => write('notes/pre-commit')]);
    expect(readFileSync(at('.husky/pre-commit'), 'utf8')).toBe('precious');
    expect(await write('.husky/pre-commit')).toMatch(/^Replaced/);
  });
});
