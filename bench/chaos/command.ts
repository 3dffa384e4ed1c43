/** Commands of `holdfast`, run to their end. */
import { execFile } from 'node:child_process';
import { program } from './workers';

/** Bytes of output that are read at most. */
const maxBytes = 64 * 1024 * 1024;

/** What a command wrote to standard output, whatever its exit code. */
export function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env, cwd, maxBuffer: maxBytes };
    execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) => {
      if (error !== null && stdout === '')
        reject(new Error(`holdfast ${args[0] ?? ''} failed: ${stderr.slice(-1_000)}`));
      else resolve(stdout);
    });
  });
}
