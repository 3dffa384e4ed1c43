/** Reads the project's documents: their blocks of code, tables, links and the files that they name. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { productRooms } from '../../scripts/product-rooms';

/** The project's root. */
export const root = path.resolve(__dirname, '../..');

/** One Markdown file. */
export interface Document {
  /** Relative to the root. */
  readonly file: string;
  readonly text: string;
}

/** A file of the project as text. */
export function sourceText(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

/** Every document for readers. */
export function documents(): readonly Document[] {
  const inDocs = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  const files = [
    ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
    ...inDocs.filter((file) => file.endsWith('.md')).map((file) => path.join('docs', file)),
  ];
  return files.sort().map((file) => ({ file, text: sourceText(file) }));
}

/** Files of the project under these folders whose names end so. */
export function filesUnder(folders: readonly string[], ending: string): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith(ending))
      .map((file) => path.join(folder, file)),
  );
}

/** A fenced block with the comment that stands before it, such as `<!-- examples/a.ts -->`. */
export interface CodeBlock {
  readonly language: string;
  readonly source: string | undefined;
  readonly code: string;
}

/** The fenced blocks of a document. */
export function codeBlocks({ text }: Document): readonly CodeBlock[] {
  const fence = /(?:<!-- (\S+) -->\n+)?^```(\w*)\n([^]*?)^```$/gm;
  return [...text.matchAll(fence)].map(([, source, language = '', code = '']) => ({
    language,
    source,
    code,
  }));
}

/** What a document writes as code: its fenced blocks, and its texts in back quotes outside of them. */
export function writtenCode(document: Document): readonly string[] {
  const prose = document.text.replace(/^\s*```[^]*?^\s*```$/gm, '');
  return [
    ...codeBlocks(document).map(({ code }) => code),
    ...[...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code.replaceAll('\\|', '|')),
  ];
}

/** The cells of the first table under a heading, without its first two rows and without back quotes. */
export function tableUnder(document: Document, heading: string): readonly string[][] {
  return tableAfter(document, (line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
}

/** The cells of the first table at or after the first line that matches, without its first two rows and without back quotes. */
export function tableAfter(
  { file, text }: Document,
  isStart: (line: string) => boolean,
): readonly string[][] {
  const lines = text.split('\n').map((line) => line.trim());
  const at = lines.findIndex(isStart);
  if (at < 0) throw new Error(`${file} lacks the line before a table`);
  const begin = lines.findIndex((line, index) => index > at && line.startsWith('|'));
  const length = lines.slice(begin).findIndex((line) => !line.startsWith('|'));
  return lines
    .slice(begin, length < 0 ? undefined : begin + length)
    .slice(2)
    .map(cellsOf);
}

function cellsOf(line: string): string[] {
  const inner = line.slice(1, -1);
  return inner
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('`', '').replaceAll('\\|', '|'));
}

/** Targets of the relative links and pictures of a document, without their anchors. */
export function relativeLinks({ text }: Document): readonly string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target.replace(/#.*$/, ''))
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target));
}

/** Paths of the project that a document names in back quotes. */
export function namedPaths({ text }: Document): readonly string[] {
  const others = ['deploy', 'test', 'bench', 'examples', 'docs', '\\.ci'];
  const known = [...productRooms, ...others].join('|');
  const named = new RegExp(`\`((?:${known})/[\\w./-]+)\``, 'g');
  return [...text.matchAll(named)].map(([, file = '']) => file);
}

/** Ids of the rules of docs/spec.md, in its order. */
export function specRules(): readonly string[] {
  return [...sourceText('docs/spec.md').matchAll(/^- \*\*(R-[A-Z]+-\d+)\*\* /gm)].map(
    ([, id = '']) => id,
  );
}

/** Anchors that GitHub gives the headings of a document. */
export function headingAnchors({ text }: Document): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );
}

/** Relative links of a document to a heading: the file, empty for the same one, and the anchor. */
export function headingLinks({ text }: Document): readonly (readonly [string, string])[] {
  return [...text.matchAll(/\]\(([^)\s:]*)#([^)\s]+)\)/g)].map(([, file = '', anchor = '']) => [
    file,
    anchor,
  ]);
}
