/** What the documents and the code's comments point at exists. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import {
  documents,
  filesUnder,
  headingAnchors,
  headingLinks,
  namedPaths,
  relativeLinks,
  root,
  sourceText,
  specRules,
} from './documents';
import { productRooms } from '../../scripts/product-rooms';

const rooms = [...productRooms, 'bench', 'examples'];

describe.each(documents())('$file', (document) => {
  test('links to files that exist', () => {
    const folder = path.dirname(path.join(root, document.file));
    const missing = relativeLinks(document).filter((link) => !existsSync(path.join(folder, link)));
    expect(missing).toEqual([]);
  });

  test('links to headings that exist', () => {
    const folder = path.dirname(document.file);
    const missing = headingLinks(document).filter(([link, anchor]) => {
      const file = link === '' ? document.file : path.join(folder, link);
      return !headingAnchors({ file, text: sourceText(file) }).includes(anchor);
    });
    expect(missing).toEqual([]);
  });

  test('names files that exist', () => {
    const missing = namedPaths(document).filter((file) => !existsSync(path.join(root, file)));
    expect(missing).toEqual([]);
  });
});

const { files } = z
  .object({ files: z.array(z.string()) })
  .parse(JSON.parse(sourceText('package.json')));

/** Whether the package carries a file or folder: npm always adds the first two. */
function isPacked(file: string): boolean {
  const covers = (entry: string): boolean => file === entry || file.startsWith(`${entry}/`);
  const left = files.filter((entry) => entry.startsWith('!')).map((entry) => entry.slice(1));
  return ['README.md', 'LICENSE', ...files].some(covers) && !left.some(covers);
}

test.each(documents().filter(({ file }) => isPacked(file)))(
  '$file links to what the package carries',
  (document) => {
    const folder = path.dirname(document.file);
    const targets = relativeLinks(document).map((link) =>
      path.join(folder, link).replace(/\/$/, ''),
    );
    expect(targets.filter((target) => !isPacked(target))).toEqual([]);
  },
);

test('the map of the documents links to each of them', () => {
  const map = { file: 'docs/README.md', text: sourceText('docs/README.md') };
  const linked = relativeLinks(map).map((link) => path.join('docs', link));
  const guides = documents()
    .map(({ file }) => file)
    .filter((file) => /^docs\/[^/]+$/.test(file) && file !== map.file);
  expect(guides.filter((file) => !linked.includes(file))).toEqual([]);
});

const decisions = readdirSync(path.join(root, 'docs/adr'));
const decisionNumbers = decisions.map((file) => file.slice(0, 4));

/** Ids of the recorded cases that tests replay. */
function recordedCases(): readonly string[] {
  const lines = sourceText('test/fixtures/cases/cases.jsonl').trim().split('\n');
  return lines.map((line) => z.object({ id: z.string() }).parse(JSON.parse(line)).id);
}

describe('decisions', () => {
  test('have each a number of its own and the same parts', () => {
    expect(new Set(decisionNumbers).size).toBe(decisionNumbers.length);
    for (const file of decisions) {
      const text = sourceText(path.join('docs/adr', file));
      const parts = text.split('\n').filter((line) => /^(# \d{4} |Status: |## )/.test(line));
      expect(parts.map((line) => line.replace(/^(# \d{4} |Status: ).*/, '$1').trim())).toEqual([
        `# ${file.slice(0, 4)}`,
        'Status:',
        ...['## Context', '## Decision', '## Consequences'],
      ]);
    }
  });
});

describe('citations in code and documents', () => {
  const sources = [
    ...filesUnder([...rooms, 'test'], '.ts').filter((file) => !file.startsWith('test/docs/')),
    ...documents().map(({ file }) => file),
  ];

  /** Every first group of the pattern, with the file that holds it. */
  function cited(pattern: RegExp): readonly { readonly file: string; readonly name: string }[] {
    return sources.flatMap((file) =>
      [...sourceText(file).matchAll(pattern)].map(([, name = '']) => ({ file, name })),
    );
  }

  test('name nothing that is not in the repository', () => {
    const papers = cited(
      /(\b[Ss]eeds? 00\d\b|\bDESIGN(?:'s|, |\.md)|\bSTYLE(?:'s| \d|\.md)|\b(?:issue|issues) [A-Z]{3,}\b|\bbrief of\b)/g,
    );
    expect(papers).toEqual([]);
  });

  test.each([
    ['decisions', /\bADR (\d{4})\b/g, decisionNumbers],
    ['rules', /\b(R-[A-Z]+-\d+)\b/g, specRules()],
    ['recorded cases', /\bcases? ([a-z_]+-\d\d)\b/gi, recordedCases()],
  ])('name %s that exist', (_kind, pattern, known) => {
    const names = cited(pattern);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter(({ name }) => !known.includes(name))).toEqual([]);
  });
});
