/** Runs a worker's share of a store test as a process of its own, on the built package. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';

const root = path.join(__dirname, '..', '..');

/** A running child of the test. */
export interface StoreProcess {
  readonly child: ChildProcess;
  /** Its lines, as they come. */
  readonly lines: Interface;
}

/** Starts `store-child.cjs`; `under` is a shell command that ends by running its arguments. */
export function startStoreProcess(
  args: readonly string[],
  under: readonly string[] = [],
): StoreProcess {
  if (!existsSync(path.join(root, 'dist', 'activities', 'stores', 'open-store.js'))) {
    throw new Error('This test runs the built package in processes: run "npm run build" first.');
  }
  const script = path.join(__dirname, 'store-child.cjs');
  const [program = process.execPath, ...rest] = [...under, process.execPath, script, ...args];
  const child = spawn(program, rest, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: process.env,
  });
  return { child, lines: createInterface({ input: child.stdout }) };
}

/** Runs the child to its end and returns its lines. */
export async function runStoreProcess(...args: readonly string[]): Promise<readonly string[]> {
  const { child, lines } = startStoreProcess(args);
  const said: string[] = [];
  lines.on('line', (line) => said.push(line));
  await Promise.all([once(child, 'exit'), once(lines, 'close')]);
  return said;
}
