/** Which dev server serves a state file: by the list of processes, and by a note beside the file that keeps its ports. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { runCommand } from './run-command';

const registrationSchema = z.object({
  pid: z.number().int().positive(),
  port: z.number().int().positive(),
  uiPort: z.number().int().positive(),
});
const psTimeoutMs = 5_000;

/** Which process serves a state file. */
export type ServerRegistration = z.infer<typeof registrationSchema>;

/** The last note about a state file; undefined if there is none or it cannot be read. */
export async function readRegistration(stateFile: string): Promise<ServerRegistration | undefined> {
  try {
    const text = await readFile(`${stateFile}.server.json`, 'utf8');
    return registrationSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Replaces the note. If the process dies meanwhile, only the ports are forgotten. */
export async function writeRegistration(
  stateFile: string,
  registration: ServerRegistration,
): Promise<void> {
  await writeFile(`${stateFile}.server.json`, JSON.stringify(registration), { mode: 0o600 });
}

/**
 * The dev server that runs on this state file; undefined if there is none, or if processes cannot be listed.
 *
 * Contract: never rejects; finds at least the processes of this user; `stateFile` is absolute, as `launch.ts` passes it.
 */
export async function findServer(stateFile: string): Promise<ServerRegistration | undefined> {
  for (const [pid, command] of await listProcesses()) {
    // Not the shell that `launch.ts` keeps as a watchdog: it has the same arguments.
    const [, port, uiPort] =
      /^(?!\/bin\/sh ).{0,4096}? server start-dev .{0,1000}?--port (\d+) --ui-port (\d+) /.exec(
        command,
      ) ?? [];
    if (port === undefined || !command.trimEnd().endsWith(` --db-filename ${stateFile}`)) continue;
    return { pid, port: Number(port), uiPort: Number(uiPort) };
  }
  return undefined;
}

/** Each process with its command and arguments, between blanks. */
async function listProcesses(): Promise<readonly (readonly [pid: number, command: string])[]> {
  const pids = await readdir('/proc').catch(() => undefined);
  if (pids !== undefined)
    return Promise.all(
      pids.filter(Number).map(async (pid) => {
        // Empty for a process that has just ended, or belongs to another user.
        const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
        return [Number(pid), text.replaceAll('\0', ' ')] as const;
      }),
    );
  const listed = await runCommand('ps', ['-axo', 'pid=,command='], psTimeoutMs).catch(() => '');
  return listed.split('\n').map((text) => {
    const [, pid, command = ''] = /^\s*(\d+) (.*)$/.exec(text) ?? [];
    return [Number(pid), command] as const;
  });
}
