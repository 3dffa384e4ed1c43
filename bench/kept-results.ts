/** Results that runs leave with `--keep`: JSON lines in `bench/results.jsonl`, oldest first, from which `npm run results` writes docs/results.md. */
import { appendFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import type { JsonObject } from '../workflows/core/json';

/** One result, and what it was measured on. */
export interface KeptResult {
  /** What was measured; the newest result of a name is shown. */
  readonly name: string;
  readonly command: string;
  /** `2026-11-29`, in UTC. */
  readonly date: string;
  readonly node: string;
  readonly machine: string;
  /** Load average of the last minute, at the end of the run. */
  readonly load: number;
  readonly seconds: number;
  readonly result: JsonObject;
}

/** The file, in the project's root, where npm runs commands. */
const resultsFile = path.join(process.cwd(), 'bench', 'results.jsonl');

/** Appends a result. */
export async function keepResult(
  { name, command, startedAtMs }: Pick<KeptResult, 'name' | 'command'> & { startedAtMs: number },
  result: JsonObject,
): Promise<void> {
  const [load = 0] = loadavg();
  const kept: KeptResult = {
    name,
    command,
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    machine: `${cpus().length} CPUs, ${process.platform} ${process.arch}`,
    load: Math.round(load * 10) / 10,
    seconds: Math.round((Date.now() - startedAtMs) / 1_000),
    result,
  };
  await appendFile(resultsFile, `${JSON.stringify(kept)}\n`);
}
