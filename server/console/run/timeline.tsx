/** The timeline of a run: iterations with their entries, a window at a time, so that a long run stays fast. */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { countText, fieldText } from '../parts/words';
import { IterationBlock } from './iteration-block';
import type { Iteration } from './iterations';
import type { TimelineView } from './use-timeline';

/** Iterations that are shown at once. */
const windowSize = 50;

interface TimelineProps {
  readonly view: TimelineView;
  readonly runStartedAtMs: number;
  /** The newest iteration of the window; undefined: it follows the run. */
  readonly at: number | undefined;
  readonly onMove: (at: number | undefined) => void;
}

/** The part of the timeline up to `at`, newest iteration first. */
export function Timeline({ view, runStartedAtMs, at, onMove }: TimelineProps): JSX.Element {
  const [isFiltered, setFiltered] = useState(false);
  const titleId = useId();
  const all = view.iterations.filter(({ isEventful }) => isEventful || !isFiltered);
  const found = at === undefined ? -1 : all.findLastIndex(({ number }) => number <= at);
  const end = at === undefined ? all.length : found + 1;
  const start = Math.max(0, end - windowSize);
  const shown = all.slice(start, end).reverse();
  return (
    <section aria-labelledby={titleId} class="timeline">
      <h2 id={titleId}>
        Timeline <Connection connection={view.connection} />
      </h2>
      <Controls
        isFiltered={isFiltered}
        newer={end < all.length ? newerThan(all, end) : undefined}
        older={all[start - 1]?.number}
        isLast={at === undefined}
        onFilter={setFiltered}
        onMove={onMove}
      />
      <p class="hint">
        {countText(shown.length)} of {countText(all.length)} iterations, newest first
        {!view.isWhole && view.iterations.length > 0 && '; earlier ones are loading'}
      </p>
      {view.liveText !== undefined && at === undefined && (
        <p class="live-text" aria-label="The model writes">
          {view.liveText}
        </p>
      )}
      <ol class="iterations" reversed>
        {shown.map((iteration) => (
          <IterationBlock
            key={iteration.number}
            iteration={iteration}
            runStartedAtMs={runStartedAtMs}
          />
        ))}
      </ol>
    </section>
  );
}

/** The newest iteration of the next window; the last window follows the run. */
function newerThan(all: readonly Iteration[], end: number): number | 'last' {
  return all[end + windowSize - 1]?.number ?? 'last';
}

const connections: Readonly<Record<TimelineView['connection'], string>> = {
  connecting: 'loading',
  live: 'live',
  lost: 'connection lost, trying again',
  ended: 'ended',
};

function Connection({ connection }: Pick<TimelineView, 'connection'>): JSX.Element {
  return <span class={`connection ${connection}`}>{connections[connection]}</span>;
}

function Controls({
  isFiltered,
  newer,
  older,
  isLast,
  onFilter,
  onMove,
}: {
  readonly isFiltered: boolean;
  readonly newer: number | 'last' | undefined;
  readonly older: number | undefined;
  readonly isLast: boolean;
  readonly onFilter: (isFiltered: boolean) => void;
  readonly onMove: TimelineProps['onMove'];
}): JSX.Element {
  const move = (to: number | 'last' | undefined) => () => {
    onMove(to === 'last' ? undefined : to);
  };
  return (
    <form
      class="filter"
      aria-label="Part of the timeline"
      onSubmit={(event) => {
        event.preventDefault();
        const given = fieldText(event.currentTarget, 'at');
        onMove(given === '' ? undefined : Number(given));
      }}
    >
      <button type="button" disabled={isLast} onClick={move('last')}>
        Latest
      </button>
      <button type="button" disabled={newer === undefined} onClick={move(newer)}>
        Newer
      </button>
      <button type="button" disabled={older === undefined} onClick={move(older)}>
        Older
      </button>
      <label class="inline">
        Iteration <input name="at" type="number" min={0} class="short" />
      </label>
      <button type="submit">Go</button>
      <label class="inline">
        <input
          type="checkbox"
          checked={isFiltered}
          onChange={(event) => {
            onFilter(event.currentTarget.checked);
          }}
        />
        Only with events of note
      </label>
    </form>
  );
}
