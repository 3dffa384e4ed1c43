/** Small parts of every page: a run's status, when something was, what went wrong. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Problem, RunSummary } from '../api/gateway';
import { spanText, timeText } from './words';

/** The status of a run in one word, and by color and shape. */
export function Status({ status }: Pick<RunSummary, 'status'>): JSX.Element {
  return <span class={`status ${status}`}>{status}</span>;
}

/** How long ago something was; the moment itself when one points at it. */
export function Ago({ atMs }: { readonly atMs: number }): JSX.Element {
  const moment = new Date(atMs).toISOString();
  return (
    <time dateTime={moment} title={timeText(atMs)}>
      {spanText(Date.now() - atMs)}
    </time>
  );
}

/** Why something could not be loaded or done. */
export function ProblemNotice({
  problem,
}: {
  readonly problem: Problem | undefined;
}): JSX.Element | null {
  if (problem === undefined) return null;
  return (
    <p class="notice bad" role="alert">
      {problem.message}
    </p>
  );
}

/** A page's heading, which is focused and becomes the title of the window when the page opens. */
export function PageHeading({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Holdfast`;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  return (
    <h1 tabIndex={-1} ref={heading}>
      {children ?? title}
    </h1>
  );
}
