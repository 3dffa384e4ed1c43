/** Writes docs/api from the declarations in `dist`: `npm run api`. `test/docs/api.system.test.ts` checks that it was run. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import prettier from 'prettier';
import ts from 'typescript';

const root = path.resolve(__dirname, '..');
const dist = path.join(root, 'dist');

/** What types mention and nobody writes or reads, such as parts of a run's state: left out. */
const leftOut: ReadonlySet<string> = new Set([
  'RunState',
  'RecoveryState',
  'PlanRecoveryResult',
  'Variables',
  'Defined',
]);

const about: Readonly<Record<string, string>> = {
  holdfast: "Define tools and agents, make a worker's activities, start runs and follow them.",
  'holdfast/worker': 'Make a worker, or add Holdfast to one.',
  'holdfast/workflow': 'The workflow to bundle, and what a workflow of your own calls.',
  'holdfast/testing': 'A vendor emulator for tests without keys, with real failures.',
};

interface Entry {
  readonly name: string;
  readonly file: string;
  readonly page: string;
}

function packageEntries(): readonly Entry[] {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  return Object.entries(manifest.exports)
    .filter(([, file]) => file.endsWith('.js'))
    .map(([at, file]) => ({
      name: `holdfast${at.slice(1)}`,
      file: path.join(root, file.replace(/\.js$/, '.d.ts')),
      page: at === '.' ? 'holdfast.md' : `${at.slice(2)}.md`,
    }));
}

/** Everything that the pages show, and where. */
interface Shown {
  readonly checker: ts.TypeChecker;
  readonly pages: Map<ts.Symbol, string>;
}

function realOf({ checker }: Shown, symbol: ts.Symbol): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
}

function declarationsOf(symbol: ts.Symbol): readonly ts.Node[] {
  const declared = (symbol.declarations ?? []).filter((declaration) =>
    declaration.getSourceFile().fileName.startsWith(dist),
  );
  // A constant's text and comment are those of its statement.
  return declared.map((node) => (ts.isVariableDeclaration(node) ? node.parent.parent : node));
}

/** Whether a member of a class is nobody's but the class's. */
function isPrivate(node: ts.Node): boolean {
  const isHashed =
    ts.isClassElement(node) && node.name !== undefined && ts.isPrivateIdentifier(node.name);
  const modifiers = ts.canHaveModifiers(node) ? (node.modifiers ?? []) : [];
  return isHashed || modifiers.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
}

/** Whether a file declares it by itself, not within something else. */
function isTopLevel(declaration: ts.Declaration): boolean {
  if (ts.isSourceFile(declaration)) return false;
  const node = ts.isVariableDeclaration(declaration)
    ? declaration.parent.parent.parent
    : declaration.parent;
  return ts.isSourceFile(node);
}

/** Own types, classes and constants that a declaration mentions, in its order. */
function mentionedIn(shown: Shown, symbol: ts.Symbol): readonly ts.Symbol[] {
  const found = new Set<ts.Symbol>();
  const visit = (node: ts.Node): void => {
    if (isPrivate(node)) return;
    const here = ts.isIdentifier(node) ? shown.checker.getSymbolAtLocation(node) : undefined;
    const real = here && realOf(shown, here);
    if (
      real !== undefined &&
      real !== symbol &&
      (real.declarations ?? []).some(isTopLevel) &&
      declarationsOf(real).length > 0
    )
      found.add(real);
    node.forEachChild(visit);
  };
  declarationsOf(symbol).forEach(visit);
  return [...found];
}

/** Where a declaration's own comment and text begin. */
function startOf(node: ts.Node): { readonly comment: string; readonly start: number } {
  const text = node.getSourceFile().getFullText();
  const [last] = (ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []).slice(-1);
  const comment = last === undefined ? '' : text.slice(last.pos, last.end);
  return { comment: comment.startsWith('/**') ? comment : '', start: node.getStart() };
}

/** A comment as prose: each `Contract:`, `Errors:` and the like is a paragraph of its own. */
function proseOf(comment: string): string {
  return comment
    .replace(/^\/\*\*|\*\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .join('\n')
    .replace(/\s*@internal/g, '')
    .replace(/@experimental/g, '**Experimental.**')
    .replace(/^(Contract|Errors|Replay|Source): /gm, '\n**$1:** ')
    .trim();
}

/** A declaration's text without what is private. */
function codeOf(node: ts.Node): string {
  const source = node.getSourceFile().getFullText();
  const { start } = startOf(node);
  const cuts = ts.isClassDeclaration(node) ? node.members.filter(isPrivate) : [];
  const pieces = [...cuts, undefined].map((cut, index) =>
    source.slice(cuts[index - 1]?.end ?? start, cut?.getFullStart() ?? node.end),
  );
  return pieces.join('').replace(/^(export )?(declare )?/, '');
}

const anchorOf = (name: string): string => name.toLowerCase();

function sectionOf(shown: Shown, symbol: ts.Symbol, page: string): string {
  const declarations = declarationsOf(symbol);
  const prose = declarations
    .map((node) => proseOf(startOf(node).comment))
    .find((text) => text !== '');
  const code = declarations.map(codeOf).join('\n\n');
  const links = mentionedIn(shown, symbol).flatMap((each) => {
    const at = shown.pages.get(each);
    if (at === undefined) return [];
    return [`[${each.name}](${at === page ? '' : at}#${anchorOf(each.name)})`];
  });
  const mentions = links.length === 0 ? '' : `\nMentions ${links.sort().join(', ')}.\n`;
  return `### ${symbol.name}\n\n${prose ?? ''}\n\n\`\`\`ts\n${code}\n\`\`\`\n${mentions}`;
}

/** Own types that are mentioned, directly or not, and that no entry exports. */
function unexportedFrom(shown: Shown, symbols: readonly ts.Symbol[]): readonly ts.Symbol[] {
  const found: ts.Symbol[] = [];
  const seen = new Set(symbols);
  const queue = [...symbols];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const each of mentionedIn(shown, next)) {
      if (seen.has(each) || shown.pages.has(each) || leftOut.has(each.name)) continue;
      seen.add(each);
      found.push(each);
      queue.push(each);
    }
  }
  return found;
}

const byName = (a: ts.Symbol, b: ts.Symbol): number => a.name.localeCompare(b.name, 'en');
const isCode = ({ flags }: ts.Symbol): boolean => (flags & ts.SymbolFlags.Value) !== 0;

interface Page extends Entry {
  readonly code: readonly ts.Symbol[];
  readonly types: readonly ts.Symbol[];
  readonly mentioned: readonly ts.Symbol[];
}

function pagesOf(shown: Shown, program: ts.Program): readonly Page[] {
  const exported = packageEntries().map((entry) => {
    const source = program.getSourceFile(entry.file);
    const module = source && shown.checker.getSymbolAtLocation(source);
    if (module === undefined)
      throw new Error(`${entry.file} is missing: run "npm run build" first.`);
    const symbols = shown.checker.getExportsOfModule(module).map((each) => realOf(shown, each));
    for (const symbol of symbols) shown.pages.set(symbol, entry.page);
    return { ...entry, symbols: symbols.sort(byName) };
  });
  return exported.map(({ symbols, ...entry }) => {
    const mentioned = [...unexportedFrom(shown, symbols)].sort(byName);
    for (const symbol of mentioned) shown.pages.set(symbol, entry.page);
    return {
      ...entry,
      code: symbols.filter(isCode),
      types: symbols.filter((symbol) => !isCode(symbol)),
      mentioned,
    };
  });
}

function textOf(shown: Shown, { name, page, code, types, mentioned }: Page): string {
  const part = (heading: string, symbols: readonly ts.Symbol[]): string =>
    symbols.length === 0
      ? ''
      : `## ${heading}\n\n${symbols.map((each) => sectionOf(shown, each, page)).join('\n')}\n`;
  return [
    `# ${name}\n\n${about[name] ?? ''}\n\n`,
    part('Functions, classes, and constants', code),
    part('Types', types),
    part('Types that these mention', mentioned),
  ].join('');
}

function frontPage(pages: readonly Page[]): string {
  const links = (page: string, symbols: readonly ts.Symbol[]): string =>
    symbols.map(({ name }) => `[${name}](${page}#${anchorOf(name)})`).join(', ');
  const parts = pages.map(
    ({ name, page, code, types }) =>
      `## [${name}](${page})\n\n${about[name] ?? ''}\n\n${links(page, code)}\n\nTypes: ${links(page, types)}\n`,
  );
  return `# API reference\n\nWhat each entry of the package exports, from its declarations: \`npm run api\` writes these pages. How to use it is in the [guides](../README.md).\n\n${parts.join('\n')}`;
}

/** The text of each file of docs/api. */
async function apiPages(): Promise<ReadonlyMap<string, string>> {
  const program = ts.createProgram(
    packageEntries().map(({ file }) => file),
    { module: ts.ModuleKind.Node20, strict: true, skipLibCheck: true, types: ['node'] },
  );
  const shown: Shown = { checker: program.getTypeChecker(), pages: new Map() };
  const pages = pagesOf(shown, program);
  const texts = new Map([['README.md', frontPage(pages)]]);
  for (const page of pages) texts.set(page.page, textOf(shown, page));
  const options = await prettier.resolveConfig(path.join(root, 'docs/api/README.md'));
  for (const [file, text] of texts)
    texts.set(file, await prettier.format(text, { ...options, parser: 'markdown' }));
  return texts;
}

/** Writes the pages, or with `--check` fails if one of them is not what would be written. */
async function main(): Promise<void> {
  const folder = path.join(root, 'docs/api');
  const pages = await apiPages();
  if (!process.argv.includes('--check')) {
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of pages) writeFileSync(path.join(folder, file), text);
    return;
  }
  const stale = [...pages].filter(
    ([file, text]) => readFileSync(path.join(folder, file), 'utf8') !== text,
  );
  if (stale.length > 0) {
    const files = stale.map(([file]) => `docs/api/${file}`).join(', ');
    throw new Error(`Not what the declarations say: ${files}. Run: npm run api`);
  }
}

main().catch((thrown: unknown) => {
  console.error(thrown);
  process.exitCode = 1;
});
