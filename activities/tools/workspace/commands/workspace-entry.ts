/** Which sandboxed commands run in which workspace, so that none is set up while another could put a link in its way. */
import { ToolError } from '../../tool-error';
import { pathInside } from '../../workspace-path';

/** A command in a workspace. */
interface Entry {
  readonly root: string;
  /** Places that it cannot change or move. */
  readonly shut: ReadonlySet<string>;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

/** Of this process. */
const entries = new Set<Entry>();

/** Milliseconds that a command waits. Less than what its tool has beside the time limit of commands, 10 s. */
const maxWaitMs = 5_000;

const overlaps = (one: string, other: string): boolean =>
  pathInside(one, other) !== undefined || pathInside(other, one) !== undefined;

/** Whether a running command can change what is mounted for the next: a place that it has not shut, or a workspace within its own. */
function isInTheWay(entry: Entry, root: string, places: readonly string[]): boolean {
  if (entry.root === root) return places.some((place) => !entry.shut.has(place));
  return overlaps(entry.root, root);
}

/**
 * Finds places of a workspace that a command's sandbox shuts. Bubblewrap mounts them by name, and follows links: while a command runs
 * that can swap one of them for a link out of the workspace, the next waits.
 *
 * Errors: `ToolError` if that takes too long; the signal's reason; what `find` throws.
 */
export async function enterWorkspace(
  root: string,
  signal: AbortSignal,
  find: () => Promise<readonly string[]>,
): Promise<{ readonly found: readonly string[]; readonly leave: () => void }> {
  const late = AbortSignal.timeout(maxWaitMs);
  for (;;) {
    const found = await find();
    const inTheWay = [...entries].filter((entry) => isInTheWay(entry, root, found));
    if (inTheWay.length === 0) return { found, leave: add(root, found) };
    const stopping = AbortSignal.any([signal, late]);
    await Promise.race([Promise.all(inTheWay.map(({ ended }) => ended)), aborted(stopping)]);
    signal.throwIfAborted();
    if (late.aborted)
      throw new ToolError('The command did not start: another that is running makes a repository', {
        hint: 'Run this command again when the other one has ended.',
      });
  }
}

function add(root: string, found: readonly string[]): () => void {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const entry: Entry = { root, shut: new Set(found), ended };
  entries.add(entry);
  return () => {
    entries.delete(entry);
    end();
  };
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', resolve, { once: true });
  });
}
