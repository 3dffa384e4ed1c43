/** What the package shows: its names, the types that they mention, its files, and what an import loads. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const root = path.resolve(__dirname, '..', '..');
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string>>;
};
const entries = Object.entries(manifest.exports)
  .filter(([, file]) => file.endsWith('.js'))
  .map(([name, file]) => ({
    name: `holdfast${name.slice(1)}`,
    file: path.join(root, file.replace(/\.js$/, '.d.ts')),
  }));

/** Public names, above which a reader no longer finds what they need. */
const mostNames = 117;

function publicSurface(): {
  readonly names: readonly string[];
  readonly unexported: readonly string[];
} {
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    { module: ts.ModuleKind.Node20, strict: true, skipLibCheck: true, types: ['node'] },
  );
  const checker = program.getTypeChecker();
  const real = (symbol: ts.Symbol): ts.Symbol =>
    (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
  const names: string[] = [];
  const exported = new Set<ts.Symbol>();
  for (const { name, file } of entries) {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`${file} is missing: run "npm run build" first.`);
    for (const symbol of checker.getExportsOfModule(module)) {
      names.push(`${name}: ${symbol.name}`);
      exported.add(real(symbol));
    }
  }
  const isOwn = (symbol: ts.Symbol): boolean =>
    (symbol.declarations ?? []).some((declaration) =>
      declaration.getSourceFile().fileName.startsWith(path.join(root, 'dist')),
    );
  const typeFlags = ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Interface | ts.SymbolFlags.Class;
  const unexported = new Set<string>();
  const visit = (node: ts.Node, owner: string, inSignature: boolean): void => {
    const signature =
      inSignature || ts.isHeritageClause(node) || (ts.isFunctionLike(node) && !ts.isAccessor(node));
    if (signature && ts.isIdentifier(node)) {
      const found = checker.getSymbolAtLocation(node);
      const symbol = found && real(found);
      if (symbol && (symbol.flags & typeFlags) !== 0 && isOwn(symbol) && !exported.has(symbol))
        unexported.add(`${owner} mentions ${symbol.name}`);
    }
    node.forEachChild((child) => {
      visit(child, owner, signature);
    });
  };
  for (const symbol of exported)
    for (const declaration of symbol.declarations ?? []) visit(declaration, symbol.name, false);
  return { names, unexported: [...unexported] };
}

describe('the declarations of the entries', () => {
  const { names, unexported } = publicSurface();

  it(`hold at most ${mostNames} names`, () => {
    expect(names.length).toBeGreaterThan(50);
    expect(names.length).toBeLessThanOrEqual(mostNames);
  });

  it('export each name from one entry only', () => {
    const bare = names.map((name) => name.split(': ')[1]);
    expect(new Set(bare).size).toBe(bare.length);
  });

  it('export every type that a signature or a base type mentions', () => {
    expect(unexported).toEqual([]);
  });
});

/** What `node` prints for this code, run in the repository: the package finds itself by its name. */
function printedBy(code: string, ...args: string[]): string {
  return execFileSync(process.execPath, [...args, '-e', code], { cwd: root, encoding: 'utf8' });
}

describe('the entries', () => {
  it.each(entries)('$name can be required and imported', ({ name }) => {
    const required = printedBy(`console.log(Object.keys(require('${name}')).sort().join())`);
    const imported = printedBy(
      `import * as all from '${name}'; console.log(Object.keys(all).filter((key) => !['default', 'module.exports', '__esModule'].includes(key)).sort().join())`,
      '--input-type=module',
    );
    expect(required).toMatch(/\w/);
    expect(imported).toBe(required);
  });

  it('load neither the worker nor the workflow runtime with `holdfast` alone', () => {
    const loaded = printedBy(
      "require('holdfast'); console.log(Object.keys(require.cache).join('\\n'))",
    );
    expect(loaded).toContain(path.join('@temporalio', 'client'));
    for (const heavy of ['worker', 'workflow', 'core-bridge', 'testing'])
      expect(loaded).not.toContain(`${path.join('@temporalio', heavy)}${path.sep}`);
    for (const vendor of [path.join('@anthropic-ai', 'sdk'), 'openai', 'libsql', 'pg'])
      expect(loaded).not.toContain(path.join(root, 'node_modules', vendor, path.sep));
  });
});

test('the tarball holds the product, its documents and the examples that they show, and nothing else', () => {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [tarball] = JSON.parse(packed) as { readonly files: { readonly path: string }[] }[];
  const files = (tarball?.files ?? []).map((file) => file.path);
  const folders = new Set(files.map((file) => file.split('/').slice(0, -1)[0] ?? ''));
  expect([...folders].sort()).toEqual(['', 'deploy', 'dist', 'docs', 'examples']);
  expect(files.filter((file) => /^dist\/(bench|examples|test)\//.test(file))).toEqual([]);
  expect(files).toEqual(expect.arrayContaining(['dist/index.js', 'dist/workers/cli.js']));
});
