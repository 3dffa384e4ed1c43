/** Tables of options in the guides list the options of the code, with the defaults that the code has. */
import { resolveRecovery } from '../../activities/definitions/recovery-policy';
import { defaultCallCaps } from '../../activities/tools/default-call-caps';
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import { defaultLimits, defaultToolCompletionIterations } from '../../workflows/core/limits';
import { sourceText, tableAfter, tableUnder } from './documents';

function rowsUnder(file: string, heading: string): readonly string[][] {
  return tableUnder({ file, text: sourceText(file) }, heading);
}

/** Values as the tables write them. */
function written(options: object): readonly (readonly [string, string])[] {
  return Object.entries(options).map(([name, value]) => [
    name,
    typeof value === 'number' ? value.toLocaleString('en-US') : String(value),
  ]);
}

test('options of recovery', () => {
  const page = { file: 'docs/recovery.md', text: sourceText('docs/recovery.md') };
  const rows = tableAfter(page, (line) => line === '## Recovery').map(([name = '', value = '']) => [
    name,
    value,
  ]);
  const unset = { escalate: 'unset', estimateEvery: 'never' };
  const defaults = written({ ...unset, ...resolveRecovery('any') });
  expect([...rows].sort()).toEqual([...defaults].sort());
});

test('thresholds of compaction', () => {
  const text = sourceText('docs/context.md');
  const rows = [...text.matchAll(/^\| `(\w+)` +\| ([\d.,]+) +\|/gm)].map(([, name, value]) => [
    name,
    value,
  ]);
  expect(rows.sort()).toEqual([...written(defaultCompaction)].sort());
});

test('limits of the guard, and caps by name', () => {
  const rows = Object.fromEntries(
    rowsUnder('docs/guard.md', 'Limits').map(([, name = '', value = '']) => [name, value]),
  );
  const { maxIterations, maxEvents, maxToolCalls, maxActiveMs, maxEditsPerFile, maxSameCalls } =
    defaultLimits;
  expect(rows).toEqual({
    maxIterations: `${maxIterations}, or ${defaultToolCompletionIterations} with complete_task`,
    maxEvents: maxEvents.toLocaleString('en-US'),
    maxToolCalls: String(maxToolCalls),
    maxActiveMs: `${maxActiveMs / 60_000} minutes`,
    'maxCalls of the tool': 'by name, see below',
    maxEditsPerFile: String(maxEditsPerFile),
    maxSameCalls: String(maxSameCalls),
  });
  const caps = [...defaultCallCaps].map(([tool, calls]) => `\`${tool}\` ${calls}`).join(', ');
  expect(sourceText('docs/guard.md')).toContain(`Caps by name: ${caps}.`);
});

test('settings of a route', () => {
  const source = sourceText('activities/providers/settings/model-settings.ts');
  const settings = [...source.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name);
  expect(settings.length).toBeGreaterThan(7);
  const [, section = ''] = sourceText('docs/providers.md').split('## Settings of a route');
  const named = new Set([...section.matchAll(/`(\w+)[`:]/g)].map(([, name]) => name));
  expect(settings.filter((name) => !named.has(name))).toEqual([]);
});
