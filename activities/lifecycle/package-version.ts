/** Holdfast's own version, for people and MCP servers. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The version in the package's own package.json, two folders above this file's, or above `dist`. */
export function packageVersion(): string {
  const file = [path.join('..', '..'), path.join('..', '..', '..')]
    .map((up) => path.resolve(__dirname, up, 'package.json'))
    .find((candidate) => existsSync(candidate));
  if (file === undefined) return 'unknown';
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}
