/** Code with all mutants in it, by Stryker's instrumenter, which is installed on demand. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { installLocked } from '../install-locked';

/** A change of the code that tests should notice. */
export interface Mutant {
  readonly id: string;
  /** From the root. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** The first line of what is changed, trimmed. */
  readonly at: string;
  /** Name of Stryker's mutator. */
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
}

/** Texts are checked by tests where they matter; a mutant in each would say nothing about decisions. */
const excludedMutators = ['StringLiteral'];

interface ApiMutant {
  readonly id: string;
  readonly fileName: string;
  readonly location: { readonly start: Position; readonly end: Position };
  readonly mutatorName: string;
  readonly replacement: string;
  readonly status?: 'Ignored';
}

/** Both from 0. */
interface Position {
  readonly line: number;
  readonly column: number;
}

interface SourceFile {
  readonly name: string;
  readonly content: string;
  readonly mutate: boolean;
}

/** What is used of `@stryker-mutator/instrumenter`. */
interface InstrumenterModule {
  readonly Instrumenter: new (logger: Record<string, () => boolean>) => {
    instrument(
      files: readonly SourceFile[],
      options: {
        readonly excludedMutations: readonly string[];
        readonly ignorers: readonly never[];
        readonly plugins: null;
      },
    ): Promise<{ readonly files: readonly SourceFile[]; readonly mutants: readonly ApiMutant[] }>;
  };
}

const installed = path.join(process.cwd(), '.holdfast', 'mutate', 'instrumenter');
const entry = path.join(
  installed,
  ...['node_modules', '@stryker-mutator', 'instrumenter', 'dist', 'src', 'index.js'],
);

/** Brings the instrumenter into `.holdfast`, once for each lock file. Errors: rejects if npm cannot install it. */
export function installInstrumenter(): Promise<void> {
  return installLocked(path.join(__dirname, 'instrumenter'), installed);
}

/** Some mutants of patterns are none that the language knows; one of them in a file, and nothing of the file can be loaded. */
function isPossible({ mutatorName, replacement }: ApiMutant): boolean {
  if (mutatorName !== 'Regex') return true;
  const end = replacement.lastIndexOf('/');
  try {
    new RegExp(replacement.slice(1, end), replacement.slice(end + 1));
    return true;
  } catch {
    return false;
  }
}

function mutantIn(root: string, lines: readonly string[], mutant: ApiMutant): Mutant {
  const { start, end } = mutant.location;
  const changed = lines.slice(start.line, end.line + 1);
  changed[changed.length - 1] = (changed.at(-1) ?? '').slice(0, end.column);
  changed[0] = (changed[0] ?? '').slice(start.column);
  return {
    id: mutant.id,
    file: path.relative(root, mutant.fileName),
    line: start.line + 1,
    at: (lines[start.line] ?? '').trim(),
    mutator: mutant.mutatorName,
    original: changed.join('\n'),
    replacement: mutant.replacement,
  };
}

/**
 * Writes the code with all mutants under `codeFolder`, which is made new, and resolves with the mutants.
 *
 * Contract: the instrumenter is installed.
 */
export async function instrument(
  root: string,
  files: readonly string[],
  codeFolder: string,
): Promise<readonly Mutant[]> {
  const { Instrumenter } = (await import(entry)) as InstrumenterModule;
  const quiet = { debug: () => false, info: () => false, isDebugEnabled: () => false };
  const sources = await Promise.all(
    files.map(async (file) => {
      const name = path.join(root, file);
      return { name, content: await readFile(name, 'utf8'), mutate: true };
    }),
  );
  const result = await new Instrumenter(quiet).instrument(sources, {
    excludedMutations: excludedMutators,
    ignorers: [],
    plugins: null,
  });
  const impossible = result.mutants.filter((each) => !isPossible(each));
  await rm(codeFolder, { recursive: true, force: true });
  for (const { name, content } of result.files) {
    const target = path.join(codeFolder, path.relative(root, name));
    await mkdir(path.dirname(target), { recursive: true });
    const inFile = impossible.filter(({ fileName }) => fileName === name);
    const code = inFile.reduce((text, each) => text.replaceAll(each.replacement, '/./'), content);
    await writeFile(target, code);
  }
  const linesOf = new Map(sources.map(({ name, content }) => [name, content.split('\n')]));
  return result.mutants
    .filter((each) => each.status === undefined && !impossible.includes(each))
    .map((each) => mutantIn(root, linesOf.get(each.fileName) ?? [], each));
}
