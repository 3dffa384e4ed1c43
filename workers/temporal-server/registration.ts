/** The note beside a state file that says which process serves it, and where. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';

const registrationSchema = z.object({
  pid: z.number().int().positive(),
  port: z.number().int().positive(),
  uiPort: z.number().int().positive(),
  logFile: z.string(),
});

/** Which process serves a state file. */
export type ServerRegistration = z.infer<typeof registrationSchema>;

/** Where the note about a state file is kept. */
function registrationFileOf(stateFile: string): string {
  return `${stateFile}.server.json`;
}

/** The last note about a state file; undefined if none or it cannot be read. */
export async function readRegistration(stateFile: string): Promise<ServerRegistration | undefined> {
  try {
    const text = await readFile(registrationFileOf(stateFile), 'utf8');
    return registrationSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Replaces the note in one step. */
export async function writeRegistration(
  stateFile: string,
  registration: ServerRegistration,
): Promise<void> {
  const temporary = `${registrationFileOf(stateFile)}.${process.pid}`;
  try {
    await writeFile(temporary, JSON.stringify(registration));
    await rename(temporary, registrationFileOf(stateFile));
  } finally {
    await rm(temporary, { force: true });
  }
}
