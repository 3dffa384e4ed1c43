/** Tables of names in the documents list exactly the names that the code has. */
import { commandGroups } from '../../workers/cli/commands';
import { presetNames } from '../../activities/providers/presets';
import { exitCodes } from '../../workers/cli/exit-codes';
import { holdfastSearchAttributes } from '../../workers/search-attributes';
import { sourceText, tableUnder } from './documents';

function tableOf(file: string, heading: string): readonly string[][] {
  return tableUnder({ file, text: sourceText(file) }, heading);
}

function firstCells(file: string, heading: string): readonly string[] {
  return tableOf(file, heading).map(([first = '']) => first);
}

/** Every first group of the pattern within the part of a file between two marks. */
function namesIn(file: string, from: string, to: string, pattern: RegExp): readonly string[] {
  const [, rest = ''] = sourceText(file).split(from);
  const [part = ''] = rest.split(to);
  return [...part.matchAll(pattern)].map(([, name = '']) => name);
}

test('every variable of the environment', () => {
  const read = namesIn('workers/env.ts', 'z.object({', '});', /^ {2}([A-Z_]+): /gm);
  expect(read.length).toBeGreaterThan(10);
  expect([...firstCells('docs/operations.md', 'Environment')].sort()).toEqual([...read].sort());
});

test('every search attribute and its type', () => {
  const rows = tableOf('docs/operations.md', 'Search attributes').map((cells) => cells.slice(0, 2));
  expect(rows).toEqual(Object.entries(holdfastSearchAttributes));
});

test('every reason of a failed run', () => {
  const from = 'export type FailureReason =';
  const reasons = namesIn('workflows/core/run/outcome.ts', from, ';', /'(\w+)'/g);
  expect(reasons.length).toBeGreaterThan(5);
  expect(firstCells('docs/operations.md', 'When a run has failed')).toEqual(reasons);
});

test('every event of a run', () => {
  const entries = namesIn(
    'workflows/core/run/protocol.ts',
    'export type TimelineEntry',
    '\n);',
    /'(\w+Event)'/g,
  );
  expect(entries.length).toBeGreaterThan(10);
  expect(firstCells('docs/architecture.md', 'Events')).toEqual(entries);
});

test('every exit code', () => {
  const codes = tableOf('docs/cli.md', 'Exit codes').map(([code]) => Number(code));
  expect(codes).toEqual(Object.values(exitCodes));
});

test('every command of the command line', () => {
  const commands = Object.values(commandGroups)
    .flat()
    .map(({ name }) => name);
  const documented = firstCells('docs/cli.md', 'Commands').map((cell) => cell.split(' ')[0] ?? '');
  expect(documented.sort()).toEqual([...commands].sort());
});

test('every field of a tool', () => {
  const from = 'export interface ToolDefinition<';
  const fields = namesIn('activities/tools/tool.ts', from, '\n}\n', /^ {2}readonly (\w+)\??:/gm);
  expect(fields.length).toBeGreaterThan(15);
  expect([...firstCells('docs/tools.md', 'Fields of a tool')].sort()).toEqual([...fields].sort());
});

test('every preset of a provider', () => {
  const [, listed = ''] = /^The presets: (.*)\.$/m.exec(sourceText('docs/providers.md')) ?? [];
  expect(listed.split(', ').map((name) => name.replaceAll('`', ''))).toEqual(presetNames);
});
