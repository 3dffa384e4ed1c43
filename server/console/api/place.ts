/** Where people are in the console: the part of the address behind `#`, which no server reads. */
import { useEffect, useState } from 'preact/hooks';

/** A page, and what it shows. */
export interface Place {
  readonly page: 'runs' | 'run' | 'inbox' | 'providers' | 'compare';
  /** Of the page `run`. */
  readonly runId: string;
  readonly query: URLSearchParams;
}

const pages: readonly string[] = ['runs', 'inbox', 'providers', 'compare'];

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The place in `#/runs/ID?at=3`. */
function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?');
  const [page = '', id = ''] = path.split('/');
  const params = new URLSearchParams(query);
  if (page === 'runs' && id !== '') return { page: 'run', runId: decoded(id), query: params };
  const known = pages.includes(page) ? (page as Place['page']) : 'inbox';
  return { page: known, runId: '', query: params };
}

/** The address of a run's page. */
export function runHref(runId: string): string {
  return `#/runs/${encodeURIComponent(runId)}`;
}

/** The address of a page with these choices; empty ones are left out. */
export function hrefOf(page: string, choices: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(choices).filter(([, value]) => value !== '');
  const query = new URLSearchParams(given).toString();
  return `#/${page}${query === '' ? '' : `?${query}`}`;
}

/** The place, as it changes. */
export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const read = (): void => {
      setHash(location.hash);
    };
    addEventListener('hashchange', read);
    // What changed between the first drawing and now has passed unheard.
    read();
    return () => {
      removeEventListener('hashchange', read);
    };
  }, []);
  return placeOf(hash);
}
