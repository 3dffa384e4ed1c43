/** Temporal's test server, which skips time, as a process that does not outlive this one. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type * as Testing from '@temporalio/testing';
import { closedConnection } from '../../client/closed-connection';
import { readEnvironment } from '../../workers/env';
import { SetupError } from '../../workers/setup-error';
import { findTemporalProgram } from '../../workers/temporal-server/find-program';
import { watchdogScript } from '../../workers/temporal-server/launch';
import { testServerWheel } from '../../workers/temporal-server/pinned-wheel';

/** The SDK's package is an optional peer: only tests need it. */
function testingPackage(): typeof Testing {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- Found out when it is needed; jest has no import() in CommonJS (ADR 0029).
    return require('@temporalio/testing') as typeof Testing;
  } catch (thrown) {
    throw new SetupError(
      "testAgent needs the package @temporalio/testing, in the version of Temporal's other packages: npm install --save-dev @temporalio/testing",
      { cause: thrown },
    );
  }
}

/** A program that runs another one, which ends with this process, however that goes. */
async function boundToThisProcess(folder: string, program: string): Promise<string> {
  const file = path.join(folder, 'temporal-test-server');
  const quoted = `'${program.replaceAll("'", "'\\''")}'`;
  const script = `#!/bin/sh\nset -- ${process.pid} ${quoted} "$@"\n${watchdogScript}\n`;
  await writeFile(file, script);
  await chmod(file, 0o700);
  return file;
}

/**
 * Starts the server. Time is one for all who use it, so runs that skip it must not overlap.
 *
 * Errors: `SetupError` if the server or the SDK's package is not there, with the ways to get them.
 */
export async function startTestServer(): Promise<TestWorkflowEnvironment> {
  const { TestWorkflowEnvironment: environment } = testingPackage();
  const program = await findTemporalProgram(readEnvironment(), testServerWheel);
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-test-server-'));
  try {
    const file = await boundToThisProcess(folder, program);
    return await environment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path: file } },
      plugins: [closedConnection],
    });
  } finally {
    // The shell has read its script.
    await rm(folder, { recursive: true, force: true });
  }
}
