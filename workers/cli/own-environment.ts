/** Keeps the secrets of this process's environment from all other processes: what it starts, and who reads `/proc`. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { isSecret } from '../../activities/untrusted/secret-names';
import { reasonOf } from '../setup-error';

/**
 * Removes secrets from `process.env`, and on Linux all variables from the memory that `/proc/PID/environ` and `ps e` show: the
 * kernel goes on showing what the process was started with, whatever is deleted later. `process.env` has copies of the others.
 *
 * Contract: the caller has copied the variables before. On other systems only `process.env` changes. Returns what stays readable
 * and the remedy, undefined if nothing does.
 * Source: measured on Node 20, 22, 24 and 26 (ADR 0042).
 */
export function hideEnvironment(): string | undefined {
  const before = Object.entries(process.env);
  const secrets = before.filter(([name, value = '']) => isSecret(name, value));
  // Setting a variable makes the C library copy it, so that nothing refers to the memory that is overwritten.
  for (const [name, value] of before) process.env[name] = value;
  for (const [name] of secrets) Reflect.deleteProperty(process.env, name);
  if (process.platform !== 'linux') return undefined;
  const problem = overwriteEnvironment();
  if (problem === undefined || secrets.length === 0) return undefined;
  return (
    `The environment of this process could not be overwritten (${problem}): programs of the same user, such as those of ` +
    `run_command, can read ${secrets.map(([name]) => name).join(', ')} in /proc/${process.pid}/environ. Give secrets by ` +
    'HOLDFAST_SECRETS_FILE instead, or run commands in the sandbox or as another user.'
  );
}

/** Overwrites the variables with zeros, and checks that the kernel shows nothing else; returns why not. */
function overwriteEnvironment(): string | undefined {
  try {
    const [start, end] = environmentRange();
    const memory = openSync('/proc/self/mem', 'r+');
    try {
      writeSync(memory, Buffer.alloc(end - start), 0, end - start, start);
    } finally {
      closeSync(memory);
    }
    const isLeft = readFileSync('/proc/self/environ').some((byte) => byte !== 0);
    return isLeft ? 'it still shows variables' : undefined;
  } catch (thrown) {
    return reasonOf(thrown);
  }
}

/** Addresses of the first byte of the variables and behind the last. Source: proc_pid_stat(5), fields 50 and 51. */
function environmentRange(): readonly [number, number] {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  // The second field is the program's name in parentheses, which may hold blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [Number(fields[50 - 3]), Number(fields[51 - 3])];
}

/** Gives secrets back to `process.env` while `work` is at it: code of an agents' file reads them when it is loaded. */
export async function withSecretsInEnvironment<Result>(
  variables: Readonly<Record<string, string | undefined>>,
  work: () => Promise<Result>,
): Promise<Result> {
  const lent = Object.entries(variables).filter(([name]) => process.env[name] === undefined);
  try {
    for (const [name, value] of lent) if (value !== undefined) process.env[name] = value;
    return await work();
  } finally {
    for (const [name] of lent) Reflect.deleteProperty(process.env, name);
  }
}
