/** Every regular expression of the product, found in its source and while its modules load: a new one is tested by itself. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import gitleaks from '../../workflows/core/secrets/gitleaks-rules.json';

/** Folders whose code meets texts of tools, models, vendors and people. */
const folders = ['workflows', 'activities', 'client', 'workers'];
const root = path.join(__dirname, '..', '..');

/** A pattern, and where it stands. */
export interface FoundPattern {
  readonly place: string;
  readonly pattern: RegExp;
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => path.join(folder, file));
}

function literalsIn(file: string): readonly FoundPattern[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(path.join(root, file), 'utf8'),
    ts.ScriptTarget.ES2022,
  );
  const found: FoundPattern[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      const pattern = new RegExp(node.text.slice(1, end), node.text.slice(end + 1));
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      found.push({ place: `${file}:${line + 1}`, pattern });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Patterns that modules make of texts while they load, by way of our code alone. */
async function constructedIn(files: readonly string[]): Promise<readonly FoundPattern[]> {
  const found: FoundPattern[] = [];
  const Plain = globalThis.RegExp;
  globalThis.RegExp = new Proxy(Plain, {
    construct(target, given: [string, string?]) {
      const pattern = new target(...given);
      const frames = (new Error().stack ?? '').split('\n').slice(2);
      const maker = frames.find((frame) => !frame.includes(`${path.sep}node_modules${path.sep}`));
      const place = /[\w-]+\.ts:\d+/.exec(maker ?? '')?.[0] ?? '';
      // What packages make for themselves meets no untrusted text by way of our code.
      if (maker === frames[0]) found.push({ place, pattern });
      return pattern;
    },
  });
  try {
    for (const file of files) await import(path.join(root, file));
  } finally {
    globalThis.RegExp = Plain;
  }
  return found;
}

/** All of them, no two alike. */
export async function everyPattern(): Promise<readonly FoundPattern[]> {
  const files = folders.flatMap(filesIn);
  const pure = files.filter((file) => /^(?:workflows\/core|activities)\//.test(file));
  const all = [
    ...files.flatMap(literalsIn),
    ...(await constructedIn(pure)),
    ...gitleaks.rules.map(({ id, pattern }) => ({
      place: `gitleaks ${id}`,
      pattern: new RegExp(pattern, 'g'),
    })),
  ];
  return [...new Map(all.map((one) => [String(one.pattern), one])).values()];
}
