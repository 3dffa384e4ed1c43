/** One change of a file at a time in this process, since an iteration's tool calls run in parallel. */

const tails = new Map<string, Promise<unknown>>();

/** Runs `change` after all earlier changes of the same file have settled. */
export async function withFileLock<Result>(
  file: string,
  change: () => Promise<Result>,
): Promise<Result> {
  const before = tails.get(file) ?? Promise.resolve();
  const mine = before.then(change, change);
  const tail = mine.catch(() => undefined);
  tails.set(file, tail);
  try {
    return await mine;
  } finally {
    if (tails.get(file) === tail) {
      tails.delete(file);
    }
  }
}
