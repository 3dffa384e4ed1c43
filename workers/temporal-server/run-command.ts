/** Runs a short-lived program and returns what it printed. */
import type { ExecFileException } from 'node:child_process';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { isSecret } from '../../activities/untrusted/secret-names';
import { reasonOf } from '../setup-error';

const execFileAsync = promisify(execFile);

/**
 * Runs `file` without a shell; returns its standard output.
 *
 * Errors: rejects if it cannot be started, ends with another code than 0, or takes longer than `timeoutMs` (it is
 * then killed); the message has the last lines of its error output.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<string> {
  try {
    const { stdout } = await execFileAsync(file, args, {
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 4_194_304,
      // Whoever reads `/proc` would find the secrets in this program's environment.
      env: Object.fromEntries(
        Object.entries(process.env).filter(([name, value = '']) => !isSecret(name, value)),
      ),
    });
    return stdout;
  } catch (thrown) {
    const reason = failureText(thrown as ExecFileException, timeoutMs);
    throw new Error(`${file} ${args.slice(0, 3).join(' ')}: ${reason}`, { cause: thrown });
  }
}

function failureText(failure: ExecFileException, timeoutMs: number): string {
  if (failure.code === 'ENOENT') return 'no such program';
  if (failure.killed === true) return `no end within ${timeoutMs} ms`;
  const lastLines = (failure.stderr ?? '').trim().split('\n').slice(-2).join(' | ');
  return lastLines === '' ? reasonOf(failure) : lastLines.slice(0, 300);
}
