/** Each optional feature of the activities can be removed: its files, and its lines in the composition root. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { filesUnder, root, sourceText } from './documents';

/** What is removed with each feature, as the table of `docs/architecture.md` says it. */
const features = [
  ...sourceText('docs/architecture.md').matchAll(/^\| `(\w+)`\s+\|(.+?)\|(.+?)\|$/gm),
].flatMap(([, name = '', files = '']) =>
  files.includes('`activities/')
    ? [{ name, files: [...files.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file) }]
    : [],
);

const entry = 'activities/index.ts';
const sources = filesUnder(['activities'], '.ts');
const isIn = (files: readonly string[], file: string): boolean =>
  files.some((each) => file === each || (each.endsWith('/') && file.startsWith(each)));

/** The file that a relative import leads to. */
function target(from: string, specifier: string): string {
  const base = path.join(path.dirname(from), specifier);
  return base.endsWith('.ts') ? base : `${base}.ts`;
}

/** The composition root without the lines that import the files or name the feature in its list. */
function indexWithout(removed: readonly { name: string; files: readonly string[] }[]): string {
  const isGone = (line: string): boolean => {
    const specifier = / from '(\.[^']+)';$/.exec(line)?.[1];
    return removed.some(({ name, files }) =>
      specifier === undefined ? line === `  ${name},` : isIn(files, target(entry, specifier)),
    );
  };
  const lines = sourceText(entry).split('\n');
  return lines.filter((line) => !isGone(line)).join('\n');
}

test('the table lists the features that the composition root lists, and more', () => {
  const listed = [...sourceText(entry).matchAll(/^ {2}(\w+),$/gm)].map(([, name]) => name);
  expect(features.map(({ name }) => name)).toEqual(expect.arrayContaining(listed));
  expect(features).toHaveLength(6);
});

test.each(features)('no other file of the activities imports $name', ({ files }) => {
  const importers = sources.filter((file) => {
    if (file === entry || isIn(files, file)) return false;
    const { importedFiles } = ts.preProcessFile(sourceText(file), true, true);
    return importedFiles.some(({ fileName }) => isIn(files, target(file, fileName)));
  });
  expect(importers).toEqual([]);
});

test('the activities build without all of them', () => {
  const gone = features.flatMap(({ files }) => files).map((file) => path.join(root, file));
  const isGone = (file: string): boolean => isIn(gone, file);
  const read = (file: string): string => readFileSync(file, 'utf8');
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), read) as {
    readonly config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const index = path.join(root, entry);
  host.fileExists = (file) => !isGone(file) && ts.sys.fileExists(file);
  host.readFile = (file) => {
    if (isGone(file)) return undefined;
    return file === index ? indexWithout(features) : ts.sys.readFile(file);
  };
  const program = ts.createProgram([index], { ...options, noEmit: true, types: ['node'] }, host);
  const problems = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName.startsWith(path.join(root, 'activities')))
    .flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]);
  expect(problems.map(({ file, messageText }) => [file?.fileName, messageText])).toEqual([]);
}, 120_000);
