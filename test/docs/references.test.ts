/** What the documents and the code's comments point at exists. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { documents, filesUnder, namedPaths, relativeLinks, root, sourceText } from './documents';

const rooms = ['workflows', 'activities', 'workers', 'client', 'testing', 'bench', 'examples'];

describe.each(documents())('$file', (document) => {
  test('links to files that exist', () => {
    const folder = path.dirname(path.join(root, document.file));
    const missing = relativeLinks(document).filter((link) => !existsSync(path.join(folder, link)));
    expect(missing).toEqual([]);
  });

  test('names files that exist', () => {
    const missing = namedPaths(document).filter((file) => !existsSync(path.join(root, file)));
    expect(missing).toEqual([]);
  });
});

describe('decisions', () => {
  const files = readdirSync(path.join(root, 'docs/adr'));
  const numbers = files.map((file) => file.slice(0, 4));

  test('have each a number of its own and the same parts', () => {
    expect(new Set(numbers).size).toBe(numbers.length);
    for (const file of files) {
      const text = sourceText(path.join('docs/adr', file));
      const parts = text.split('\n').filter((line) => /^(# \d{4} |Status: |## )/.test(line));
      expect(parts.map((line) => line.replace(/^(# \d{4} |Status: ).*/, '$1').trim())).toEqual([
        `# ${file.slice(0, 4)}`,
        'Status:',
        ...['## Context', '## Decision', '## Consequences'],
      ]);
    }
  });

  test('are there for each citation in the code', () => {
    const sources = filesUnder([...rooms, 'test'], '.ts');
    const cited = sources.flatMap((file) =>
      [...sourceText(file).matchAll(/\bADR (\d{4})\b/g)].map(([, number = '']) => ({
        file,
        number,
      })),
    );
    expect(cited.length).toBeGreaterThan(0);
    expect(cited.filter(({ number }) => !numbers.includes(number))).toEqual([]);
  });
});
