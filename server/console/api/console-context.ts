/** What every part of the console works with: the API, who uses it, and how it loads and announces. */
import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Api, Problem } from './gateway';
import { problemOf } from './gateway';
import type { Session } from './session';

/** The world of a signed-in person. */
export interface ConsoleWorld {
  readonly api: Api;
  readonly session: Session;
  /** Forgets the token; with a reason that the sign-in shows. */
  readonly signOut: (reason?: string) => void;
}

export const ConsoleContext = createContext<ConsoleWorld | undefined>(undefined);

/** The world. Contract: only below the sign-in. */
export function useConsole(): ConsoleWorld {
  const world = useContext(ConsoleContext);
  if (world === undefined) throw new Error('the console is not signed in');
  return world;
}

/** Says something to people who hear the page instead of seeing it. */
export function announce(text: string): void {
  const region = document.getElementById('announcer');
  if (region !== null) region.textContent = text;
}

/** Something that is loaded, and loaded again. A value stays while a later load fails. */
export interface Loaded<Value> {
  readonly value?: Value;
  readonly problem?: Problem;
  readonly reload: () => void;
}

/**
 * Loads when the page shows, when `load` changes, and every `everyMs` while people look at it; never if that is 0.
 *
 * Contract: one load at a time; what was asked with an earlier `load` is not shown.
 */
export function useLoaded<Value>(load: () => Promise<Value>, everyMs: number): Loaded<Value> {
  const { signOut } = useConsole();
  const [state, setState] = useState<Omit<Loaded<Value>, 'reload'> & { readonly of?: typeof load }>(
    {},
  );
  const again = useRef<() => void>(() => undefined);
  useEffect(() => {
    let isOver = false;
    let isLoading = false;
    let isStale = false;
    let timer = 0;
    const run = async (): Promise<void> => {
      isLoading = true;
      clearTimeout(timer);
      try {
        const value = await load();
        if (!isOver) setState({ value, of: load });
      } catch (thrown) {
        const problem = problemOf(thrown);
        if (problem.status === 401) signOut(problem.message);
        else if (!isOver)
          setState((before) => ({ ...(before.of === load ? before : {}), problem, of: load }));
      }
      isLoading = false;
      if (isOver) return;
      if (isStale) start();
      else if (everyMs > 0) timer = setTimeout(start, everyMs);
    };
    const start = (): void => {
      if (document.visibilityState === 'hidden') return;
      isStale = isLoading;
      if (!isLoading) void run();
    };
    again.current = start;
    document.addEventListener('visibilitychange', start);
    start();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', start);
    };
  }, [load, everyMs]);
  const reload = useCallback(() => {
    again.current();
  }, []);
  const { of, ...shown } = state;
  return { ...(of === load ? shown : {}), reload };
}
