/** Each optional feature of the core can be removed: its room, its rows and list entries, and its slice. The loop runs without. */
import path from 'node:path';
import { compileFunction } from 'node:vm';
import ts from 'typescript';
import type * as Transitions from '../../workflows/core/run/transition';
import {
  aPreparedRun,
  aReply,
  aRequest,
  aSnapshot,
  aToolReply,
  aCall,
  startMs,
  aToolResult,
} from '../support/builders';
import { filesUnder, root, sourceText } from './documents';

const core = 'workflows/core/';
const features = ['subagents', 'learning', 'notifications'];

/** Files of a room that stay: what activities and the shell know of the feature. */
const kept = ['ports.ts', 'outcome.ts'];

const sources = filesUnder(['workflows/core'], '.ts');
const isGone = (file: string): boolean =>
  features.some((room) => file.startsWith(`${core}${room}/`)) &&
  !kept.includes(path.basename(file));

/** The file that a relative import leads to. */
function target(from: string, specifier: string): string {
  return `${path.normalize(path.join(path.dirname(from), specifier))}.ts`;
}

/** Names that a file imports from what is gone. */
function goneNames(file: string, tree: ts.SourceFile): ReadonlySet<string> {
  const names = tree.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier))
      return [];
    if (!isGone(target(file, statement.moduleSpecifier.text))) return [];
    const bindings = statement.importClause?.namedBindings;
    return bindings !== undefined && ts.isNamedImports(bindings)
      ? bindings.elements.map(({ name }) => name.text)
      : [];
  });
  return new Set(names);
}

/** What a feature may hang on, beside a row: an import, a spread, a slice, or an entry of a list. */
function isRemovable(node: ts.Node): boolean {
  const isSlice = ts.isExpressionWithTypeArguments(node) && ts.isHeritageClause(node.parent);
  const isEntry = ts.isIdentifier(node) && ts.isArrayLiteralExpression(node.parent);
  return ts.isImportDeclaration(node) || ts.isSpreadAssignment(node) || isSlice || isEntry;
}

/**
 * The source without the feature: an import, an entry of a list, a slice, or a spread goes; the handler of an event ignores it.
 * Any other use throws: then the feature does not hang on these alone.
 */
function without(file: string): string {
  const tree = ts.createSourceFile(file, sourceText(file), ts.ScriptTarget.Latest, true);
  const names = goneNames(file, tree);
  const mentions = (node: ts.Node): boolean =>
    (ts.isIdentifier(node) && names.has(node.text)) ||
    (ts.forEachChild(node, (child) => mentions(child) || undefined) ?? false);
  const ignored = ts.factory.createIdentifier('(state) => stay(state)');
  const visitor =
    (context: ts.TransformationContext): ts.Visitor =>
    (node) => {
      if (isRemovable(node) && mentions(node)) return undefined;
      if (ts.isPropertyAssignment(node) && mentions(node.initializer))
        return ts.factory.updatePropertyAssignment(node, node.name, ignored);
      if (ts.isIdentifier(node) && names.has(node.text) && !ts.isImportSpecifier(node.parent))
        throw new Error(`${file} uses ${node.text} outside of a row, a list, or a slice`);
      return ts.visitEachChild(node, visitor(context), context);
    };
  const result = ts.transform(tree, [
    (context) => (source) => ts.visitEachChild(source, visitor(context), context),
  ]);
  const [changed = tree] = result.transformed;
  return names.size === 0 ? sourceText(file) : ts.createPrinter().printFile(changed);
}

const remaining = new Map(
  sources.filter((file) => !isGone(file)).map((file) => [path.join(root, file), without(file)]),
);

test('the core builds without subagents, learning, and notifications', () => {
  const read = (file: string): string | undefined => ts.sys.readFile(file);
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), read) as {
    readonly config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const inCore = (file: string): boolean => file.startsWith(path.join(root, core));
  host.fileExists = (file) =>
    inCore(file) && file.endsWith('.ts') ? remaining.has(file) : ts.sys.fileExists(file);
  const disk = host.readFile.bind(host);
  host.readFile = (file) => remaining.get(file) ?? disk(file);
  const entry = path.join(root, core, 'run/transition.ts');
  const program = ts.createProgram([entry], { ...options, noEmit: true, types: ['node'] }, host);
  const problems = program
    .getSourceFiles()
    .filter(({ fileName }) => inCore(fileName))
    .flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]);
  expect(problems.map(({ file, messageText }) => [file?.fileName, messageText])).toEqual([]);
}, 120_000);

type Evaluate = (exported: object, require: (specifier: string) => object) => void;

/** Loads the remaining core in memory. */
function load(file: string, loaded = new Map<string, object>()): object {
  const before = loaded.get(file);
  if (before !== undefined) return before;
  const exported = {};
  loaded.set(file, exported);
  if (file.endsWith('.json')) return JSON.parse(sourceText(path.relative(root, file))) as object;
  const { outputText } = ts.transpileModule(remaining.get(file) ?? '', {
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2022,
      esModuleInterop: true,
    },
  });
  const resolve = (specifier: string): object => {
    const found = path.join(path.dirname(file), specifier);
    return load(specifier.endsWith('.json') ? found : `${found}.ts`, loaded);
  };
  const evaluate = compileFunction(outputText, ['exports', 'require']) as Evaluate;
  evaluate(exported, resolve);
  return exported;
}

test('the loop runs without them: a tool call, its result, an answer', () => {
  const { initialTransition, transition } = load(
    path.join(root, core, 'run/transition.ts'),
  ) as typeof Transitions;
  let [state] = initialTransition({
    type: 'run-started',
    atMs: startMs,
    runKey: 'wf-1/run-1',
    request: aRequest(),
  });
  const events = [
    { type: 'run-prepared', result: { snapshot: aSnapshot({ learns: true }), head: 'head-0' } },
    { type: 'model-call-completed', callId: 'm1', result: aToolReply([aCall('a')]) },
    { type: 'tool-call-completed', toolCallId: 'a', result: aToolResult() },
    { type: 'model-call-completed', callId: 'm2', result: aReply() },
  ] as const;
  events.forEach((event, index) => {
    [state] = transition(state, { ...event, atMs: startMs + index });
  });
  expect(state.phase).toMatchObject({ type: 'ended', outcome: { status: 'completed' } });
  expect(Object.keys(state)).not.toEqual(expect.arrayContaining(['learning']));
  expect(Object.keys(aPreparedRun())).toEqual(
    expect.arrayContaining(['learning', 'subagents', 'notifications']),
  );
});
