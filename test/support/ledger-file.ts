/** Reads what the tools of a worker process noted: a file with one JSON object a line. */
import { existsSync, readFileSync } from 'node:fs';

/** The whole lines so far; a worker may be killed in the middle of one. */
export function readLedger(file: string): readonly unknown[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as unknown);
}
