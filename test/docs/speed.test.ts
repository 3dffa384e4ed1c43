/** The tables of docs/speed.md are those of the results that are kept. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { SpeedResult } from '../../bench/speed/result';
import { tablesOf } from '../../bench/speed/tables';
import { root, sourceText } from './documents';

const folder = 'bench/speed/published';

/** Without what prettier changes in tables. */
function normalized(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.replace(/-{3,}/g, '---').replace(/\s+/g, ' ').trim())
    .join('\n');
}

test.each(readdirSync(path.join(root, folder)))('docs/speed.md shows %s', (name) => {
  const file = `${folder}/${name}`;
  const published = JSON.parse(sourceText(file)) as SpeedResult;
  const tables = normalized(tablesOf(published));
  expect(tables.split('\n').length).toBeGreaterThan(20);
  expect(normalized(sourceText('docs/speed.md'))).toContain(
    `<!-- npm run bench -- --tables ${file} -->\n${tables}`,
  );
});
