/** How the conversation and the cost of a run grew, iteration by iteration. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { countText, moneyText } from '../parts/words';
import type { Iteration } from './iterations';

interface Point {
  readonly iteration: number;
  readonly value: number;
}

/** Units of the drawing, which is stretched to its place. */
const width = 1_000;
const height = 100;

function pathOf(points: readonly Point[], last: number, most: number): string {
  const places = points.map(({ iteration, value }) => {
    const x = last <= 1 ? width : ((iteration - 1) / (last - 1)) * width;
    const y = height - (value / (most === 0 ? 1 : most)) * (height - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return places.length === 1
    ? `M0,${places[0]?.split(',')[1] ?? 0}L${places[0] ?? ''}`
    : `M${places.join('L')}`;
}

/**
 * Both charts. A click goes to the iteration under it; so does the field above the timeline. Until the timeline is whole their
 * place is kept: a sum of its newest part would be wrong.
 */
export function Charts({
  iterations,
  isWhole,
  onMove,
}: {
  readonly iterations: readonly Iteration[];
  readonly isWhole: boolean;
  readonly onMove: (at: number) => void;
}): JSX.Element | null {
  const { tokens, cost } = useMemo(() => seriesOf(iterations), [iterations]);
  const last = iterations.at(-1)?.number ?? 0;
  if (tokens.length === 0) return null;
  if (!isWhole)
    return (
      <div class="charts loading" aria-hidden="true">
        <figure />
        <figure />
      </div>
    );
  const charts = [
    { title: 'Tokens of the conversation', points: tokens, text: countText },
    { title: 'Cost of its model calls', points: cost, text: moneyText },
  ];
  return (
    <div class="charts">
      {charts.map((chart) => (
        <Chart key={chart.title} {...chart} last={last} onMove={onMove} />
      ))}
    </div>
  );
}

function seriesOf(iterations: readonly Iteration[]): {
  readonly tokens: readonly Point[];
  readonly cost: readonly Point[];
} {
  let usd = 0;
  const replied = iterations.filter(({ tokens }) => tokens !== undefined);
  return {
    tokens: replied.map(({ number, tokens = 0 }) => ({ iteration: number, value: tokens })),
    cost: replied.map((iteration) => {
      usd += iteration.usd;
      return { iteration: iteration.number, value: usd };
    }),
  };
}

function Chart({
  title,
  points,
  last,
  text,
  onMove,
}: {
  readonly title: string;
  readonly points: readonly Point[];
  readonly last: number;
  readonly text: (value: number) => string;
  readonly onMove: (at: number) => void;
}): JSX.Element {
  const most = points.reduce((greatest, { value }) => Math.max(greatest, value), 0);
  const now = points.at(-1)?.value ?? 0;
  const path = pathOf(points, last, most);
  const label = `${title}: ${text(now)} in iteration ${last}, at most ${text(most)}`;
  return (
    <figure>
      <figcaption>
        {title} <strong>{text(now)}</strong>
        {most > now && <span class="hint"> at most {text(most)}</span>}
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        onClick={(event) => {
          const { left, width: shownWidth } = event.currentTarget.getBoundingClientRect();
          onMove(Math.round(1 + ((event.clientX - left) / shownWidth) * (last - 1)));
        }}
      >
        <path class="area" d={`${path}V${height}H0Z`} />
        <path class="line" d={path} />
      </svg>
      <div class="axis" aria-hidden="true">
        <span>iteration 1</span>
        <span>{countText(last)}</span>
      </div>
    </figure>
  );
}
