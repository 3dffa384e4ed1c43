/** Ordinary files that should hold no secrets: source, docs and data of the installed packages and of this one. */
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { redactText } from '../../../workflows/core/secrets/redact';
import { stripHidden } from '../../../workflows/core/secrets/hidden-characters';

/** Kinds of files, and bytes of one: what agents read and programs print. */
const kinds = /\.(?:[cm]?[jt]sx?|json|md|ya?ml|html|css|txt|svg|sh|py|toml)$/;
const mostBytes = 128 * 1024;
/** Files that are read at the least. */
const wantedFiles = 2_000;

/** The folder with `package.json`, from the sources and from the build. */
function packageRoot(): string {
  let folder = __dirname;
  while (!existsSync(path.join(folder, 'package-lock.json'))) folder = path.dirname(folder);
  return folder;
}

function filesBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const real = realpathSync(folder);
  return readdirSync(real, { recursive: true, encoding: 'utf8' })
    .filter((file) => kinds.test(file) && !file.split(path.sep).includes('.cache'))
    .map((file) => path.join(real, file))
    .filter((file) => {
      const stats = statSync(file, { throwIfNoEntry: false });
      return stats?.isFile() === true && stats.size > 0 && stats.size <= mostBytes;
    })
    .sort();
}

/** Ordinary files, and those in which something was taken for a secret. */
export interface OrdinaryFiles {
  readonly files: number;
  readonly changed: readonly string[];
}

/**
 * Reads files by a rule: all below `docs`, `activities`, `workflows`, `client` and `workers`, and of the installed packages
 * every n-th by path, copies within packages left out, so that at least 2,000 are read.
 */
export function readOrdinaryFiles(): OrdinaryFiles {
  const root = packageRoot();
  const own = ['docs', 'activities', 'workflows', 'client', 'workers'].flatMap((folder) =>
    filesBelow(path.join(root, folder)),
  );
  // A package's own copy of another one repeats its files.
  const installed = filesBelow(path.join(root, 'node_modules')).filter(
    (file) => !/node_modules.*\bnode_modules\b/.test(path.relative(root, file)),
  );
  const step = Math.max(1, Math.floor(installed.length / wantedFiles));
  const files = [...own, ...installed.filter((_, index) => index % step === 0)];
  const changed = files.filter((file) => {
    const text = stripHidden(readFileSync(file, 'utf8'));
    return redactText(text) !== text;
  });
  return { files: files.length, changed: changed.map((file) => path.relative(root, file)) };
}
