/** The inbox: what waits for people, over all runs. */
import type { JSX } from 'preact';
import { useCallback, useRef } from 'preact/hooks';
import type { ConsoleWorld } from '../api/console-context';
import { useConsole, useLoaded } from '../api/console-context';
import { dataOf } from '../api/gateway';
import { PageHeading, ProblemNotice } from '../parts/notices';
import type { Wait } from './decisions';
import { WaitList } from './wait-list';

/** Each load asks every waiting run, so it is not as often as that of a list. */
const refreshMs = 8_000;
/** Pages of waiting runs that are looked through for the first wait for a person: others wait for a provider. */
const mostPages = 10;

interface Inbox {
  readonly waits: readonly Wait[];
  readonly hasMore: boolean;
}

/** The waits of this many pages; of further ones while there is none. */
async function load({ api }: ConsoleWorld, pages: number): Promise<Inbox> {
  const waits: Wait[] = [];
  let cursor: string | undefined;
  for (let page = 1; page <= Math.max(pages, mostPages); page += 1) {
    const query = cursor === undefined ? {} : { cursor };
    const loaded = await dataOf(api.GET('/v1/inbox', { params: { query } }));
    waits.push(...loaded.waits);
    cursor = loaded.next;
    if (cursor === undefined) return { waits, hasMore: false };
    if (page >= pages && waits.length > 0) break;
  }
  return { waits, hasMore: true };
}

/** The page. */
export function InboxPage(): JSX.Element {
  const world = useConsole();
  /** Pages to show: not in the key of the load, so that no card is made again. */
  const pages = useRef(1);
  const { value, problem, reload } = useLoaded(
    useCallback(() => load(world, pages.current), [world]),
    refreshMs,
  );
  return (
    <>
      <PageHeading title="Inbox" />
      <ProblemNotice problem={problem} />
      {value === undefined && problem === undefined && <p class="hint">Loading …</p>}
      {value?.waits.length === 0 && <p>Nothing waits for you.</p>}
      {value !== undefined && <WaitList waits={value.waits} onDecided={reload} />}
      {value?.hasMore === true && (
        <button
          type="button"
          onClick={() => {
            pages.current += 1;
            reload();
          }}
        >
          Show more
        </button>
      )}
    </>
  );
}
