/** The Temporal SDK's own download of a program: the last resort. */
import { chmod, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { TemporalProgram } from './pinned-wheels';
import { runCommand } from './run-command';

/** 45 MB over a slow line, and one start of the server. */
const downloadTimeoutMs = 300_000;

const factories: Readonly<Record<TemporalProgram, string>> = {
  temporal: 'createLocal',
  'temporal-test-server': 'createTimeSkipping',
};

/**
 * Lets `@temporalio/testing` download the program into `directory`; returns its path.
 *
 * The SDK downloads only on starting a server, and that would make this process's one Temporal runtime before its
 * logger is set. Therefore a child process does it.
 *
 * Errors: rejects with what the SDK said.
 */
export async function fetchProgramWithSdk(
  program: TemporalProgram,
  directory: string,
): Promise<string> {
  const executable = { type: 'cached-download', downloadDir: directory };
  const script =
    `require(${JSON.stringify(require.resolve('@temporalio/testing'))}).TestWorkflowEnvironment` +
    `.${factories[program]}({ server: { executable: ${JSON.stringify(executable)} } })` +
    `.then((environment) => environment.teardown())` +
    `.catch((error) => { process.stderr.write(String(error.message)); process.exitCode = 1; });`;
  await runCommand(process.execPath, ['-e', script], downloadTimeoutMs);
  const [file] = (await readdir(directory)).filter((name) => name.startsWith('temporal'));
  if (file === undefined) throw new Error(`the SDK left no program in ${directory}`);
  const downloaded = path.join(directory, file);
  await chmod(downloaded, 0o755);
  return downloaded;
}
