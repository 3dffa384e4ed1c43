/** Runs a short-lived program and returns what it printed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { errorCodeOf, reasonOf } from '../setup-error';

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
 * then killed); the message has the last lines of its error output.
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
  if (errorCodeOf(thrown) === 'ENOENT') return 'no such program';
  if (propertyOf(thrown, 'killed') === true) return `no end within ${timeoutMs} ms`;
  const printed = propertyOf(thrown, 'stderr');
  const lines = typeof printed === 'string' ? printed.trim().split('\n') : [];
  const lastLines = lines.slice(-2).join(' | ');
  return lastLines === '' ? reasonOf(thrown) : lastLines.slice(0, 300);
}

function propertyOf(thrown: unknown, name: string): unknown {
  return typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, name) : undefined;
}
