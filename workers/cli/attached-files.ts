/** `--file PATH`: images and files that a command sends beside its text. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { imageTypeOf } from '../../activities/media/image-size';
import type { Store } from '../../activities/stores/store';
import type { AgentClient } from '../../client/agent-client';
import { ClientError, reasonOf } from '../../client/client-error';
import type { Content, ContentPart } from '../../workflows/core/attachments';
import { defined } from '../../workflows/core/json';
import type { CommandContext, Surroundings } from './command-context';
import { withClient } from './command-context';

async function partOf(directory: string, file: string): Promise<ContentPart> {
  try {
    const data = await readFile(path.resolve(directory, file));
    const type = imageTypeOf(data) === undefined ? 'file' : 'image';
    return { type, data, name: path.basename(file) };
  } catch (thrown) {
    throw new ClientError(
      'invalid-input',
      `The file ${file} cannot be read: ${reasonOf(thrown)}. Give the path of a file (--file PATH). Nothing was sent.`,
    );
  }
}

/** The text, and behind it the files; a text alone stays one. Errors: `invalid-input` for a file that cannot be read. */
export async function withFiles(
  { directory }: Pick<Surroundings, 'directory'>,
  text: string,
  files: readonly string[] = [],
): Promise<Content> {
  if (files.length === 0) return text;
  const parts = await Promise.all(files.map((file) => partOf(directory, file)));
  return [{ type: 'text', text }, ...parts];
}

/** Does the work with the store of the environment if there are files to store, else without one. */
export async function withMediaStore<Result>(
  context: Surroundings,
  files: readonly string[] | undefined,
  work: (store: Store | undefined) => Promise<Result>,
): Promise<Result> {
  if (files === undefined) return work(undefined);
  // Most commands send no file, and need no store (ADR 0029).
  const { withStore } = await import('./environment-store.ts');
  return withStore(context, work);
}

/** Connects, and sends a text with files. */
export async function withContent<Result>(
  context: CommandContext,
  text: string,
  files: readonly string[] | undefined,
  send: (client: AgentClient, content: Content) => Promise<Result>,
): Promise<Result> {
  const content = await withFiles(context, text, files);
  return withMediaStore(context, files, (store) =>
    withClient(context, (client) => send(client, content), defined({ store })),
  );
}
