/** Two runs side by side, iteration by iteration: what a fork did otherwise. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { runHref } from '../api/place';
import { PageHeading, ProblemNotice } from '../parts/notices';
import { countText, safeText } from '../parts/words';
import { EntryList } from './iteration-block';
import type { TimelineView } from './use-timeline';
import { useTimeline } from './use-timeline';

/** Iterations that are shown at once. */
const windowSize = 20;

/** The page of the runs `left` and `right`. */
export function ComparePage({ query }: { readonly query: URLSearchParams }): JSX.Element {
  const [left, right] = [query.get('left') ?? '', query.get('right') ?? ''];
  return (
    <>
      <PageHeading title="Two runs" />
      <Comparison key={JSON.stringify([left, right])} left={left} right={right} />
    </>
  );
}

function Comparison({
  left,
  right,
}: {
  readonly left: string;
  readonly right: string;
}): JSX.Element {
  const views = [useTimeline(left, 1), useTimeline(right, 1)] as const;
  const [start, setStart] = useState(0);
  const last = Math.max(...views.map(({ iterations }) => iterations.at(-1)?.number ?? 0));
  const numbers = Array.from({ length: windowSize }, (_, index) => start + index).filter(
    (number) => number <= last,
  );
  return (
    <>
      {views.map(({ problem }, index) => (
        <ProblemNotice key={index} problem={problem} />
      ))}
      <Pager start={start} last={last} onMove={setStart} />
      <table class="compare">
        <caption class="unseen">Both runs by iteration</caption>
        <thead>
          <tr>
            <th scope="col">#</th>
            {[left, right].map((runId, index) => (
              <th scope="col" key={index}>
                <a href={runHref(runId)}>{safeText(runId)}</a>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {numbers.map((number) => (
            <tr key={number}>
              <th scope="row">{number}</th>
              {views.map((view, index) => (
                <IterationCell key={index} view={view} number={number} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Pager({
  start,
  last,
  onMove,
}: {
  readonly start: number;
  readonly last: number;
  readonly onMove: (start: number) => void;
}): JSX.Element {
  return (
    <nav class="pager" aria-label="Part of both runs">
      <button
        type="button"
        disabled={start === 0}
        onClick={() => {
          onMove(Math.max(start - windowSize, 0));
        }}
      >
        Earlier
      </button>
      <span>
        Iterations {countText(start)} to {countText(Math.min(start + windowSize - 1, last))} of{' '}
        {countText(last)}
      </span>
      <button
        type="button"
        disabled={start + windowSize > last}
        onClick={() => {
          onMove(start + windowSize);
        }}
      >
        Later
      </button>
    </nav>
  );
}

function IterationCell({
  view,
  number,
}: {
  readonly view: TimelineView;
  readonly number: number;
}): JSX.Element {
  const iteration = view.iterations.find((each) => each.number === number);
  if (iteration === undefined) return <td />;
  return (
    <td>
      <EntryList iteration={iteration} runStartedAtMs={view.iterations[0]?.startedAtMs ?? 0} />
    </td>
  );
}
