/** Runs a short-lived program and returns what it printed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** What a program printed before it ended with exit code 0. */
export interface CommandOutput {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs `file` without a shell.
 *
 * Errors: rejects if it cannot be started, ends with another code than 0, or takes longer than `timeoutMs` (it is
 * then killed); the message holds the last lines that it printed to its error output.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<CommandOutput> {
  try {
    return await execFileAsync(file, args, {
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 4_194_304,
    });
  } catch (thrown) {
    throw new Error(`${file} ${args.slice(0, 3).join(' ')}: ${failureText(thrown, timeoutMs)}`, {
      cause: thrown,
    });
  }
}

function failureText(thrown: unknown, timeoutMs: number): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if ('code' in thrown && thrown.code === 'ENOENT') return 'no such program';
  if ('killed' in thrown && thrown.killed === true) return `no end within ${timeoutMs} ms`;
  const printed = 'stderr' in thrown && typeof thrown.stderr === 'string' ? thrown.stderr : '';
  const lastLines = printed.trim().split('\n').slice(-2).join(' | ');
  return lastLines === '' ? thrown.message : lastLines.slice(0, 300);
}
