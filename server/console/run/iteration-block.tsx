/** One iteration of a run: what it cost, and its entries as text. */
import type { JSX } from 'preact';
import type { EntryTone } from '../../../workflows/core/view/timeline-text';
import { timelineText } from '../../../workflows/core/view/timeline-text';
import { runHref } from '../api/place';
import type { Entry } from '../api/run-events';
import { countText, moneyText, oneLine, spanText, timeText } from '../parts/words';
import type { Iteration } from './iterations';

interface Line {
  readonly entry: Entry;
  readonly text: string;
  readonly tone: EntryTone | 'plain';
}

/** The entries that say something new: the heading has the route, and a failed call has had its own line. */
function linesOf({ entries, number }: Iteration): readonly Line[] {
  let lastError: string | undefined;
  return entries.flatMap((entry) => {
    const isSaid =
      (entry.type === 'IterationStartedEvent' && entry.note === undefined && number > 0) ||
      (entry.type === 'ErrorEvent' && entry.failure.message === lastError);
    if ('error' in entry) lastError = entry.error.message;
    const said = isSaid ? undefined : timelineText(entry);
    return said === undefined ? [] : [{ entry, text: said.text, tone: said.tone ?? 'plain' }];
  });
}

/** The iteration, as an item of a list. */
export function IterationBlock({
  iteration,
  runStartedAtMs,
}: {
  readonly iteration: Iteration;
  readonly runStartedAtMs: number;
}): JSX.Element {
  const { number, route, tokens, usd, startedAtMs, endedAtMs } = iteration;
  const facts = [
    route ?? '',
    tokens === undefined ? '' : `${countText(tokens)} tokens`,
    usd === 0 ? '' : moneyText(usd),
    spanText(endedAtMs - startedAtMs),
  ].filter((fact) => fact !== '');
  return (
    <li class="iteration" id={`iteration-${number}`}>
      <h3>
        {number === 0 ? 'Start' : `Iteration ${number}`}{' '}
        <span class="hint">{facts.join(' · ')}</span>
      </h3>
      <EntryList iteration={iteration} runStartedAtMs={runStartedAtMs} />
    </li>
  );
}

/** The entries of an iteration as lines, each with its time since the start of the run. */
export function EntryList({
  iteration,
  runStartedAtMs,
}: {
  readonly iteration: Iteration;
  readonly runStartedAtMs: number;
}): JSX.Element {
  return (
    <ul class="entries">
      {linesOf(iteration).map(({ entry, text, tone }) => (
        <li key={entry.id} class={tone}>
          <time dateTime={new Date(entry.atMs).toISOString()} title={timeText(entry.atMs)}>
            {spanText(entry.atMs - runStartedAtMs)}
          </time>
          <span>
            {oneLine(text)}
            {entry.type === 'SubagentStartedEvent' && (
              <>
                {' '}
                <a href={runHref(entry.runId)}>Open the run</a>
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
