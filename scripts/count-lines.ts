/** Prints the product's lines of code without comments and blanks, by folder: `npm run size`. Generated and vendored code counts. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { productRooms } from './product-rooms';

/** Lines of a source that are neither blank nor a comment of their own. */
export function countLines(source: string): number {
  const lines = source.replaceAll(/\/\*[\s\S]*?\*\//g, '').split('\n');
  return lines.filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length;
}

function countFolder(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|tsx|mjs|cjs|js)$/.test(file))
    .reduce((sum, file) => sum + countLines(readFileSync(path.join(folder, file), 'utf8')), 0);
}

if (require.main === module) {
  const counts = productRooms.map((folder) => [folder, countFolder(folder)] as const);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  for (const [name, count] of [...counts, ['total', total] as const])
    process.stdout.write(`${name.padEnd(12)}${String(count).padStart(7)}\n`);
}
