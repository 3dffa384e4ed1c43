/** One run: why it is where it is, what waits, its timeline live, its transcript. */
import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useConsole, useLoaded } from '../api/console-context';
import type { Run } from '../api/gateway';
import { dataOf } from '../api/gateway';
import { PageHeading, ProblemNotice } from '../parts/notices';
import { safeText } from '../parts/words';
import { WaitList } from '../waits/wait-list';
import { Charts } from './chart';
import { RunActions } from './run-actions';
import { RunFacts } from './run-facts';
import { Subagents } from './subagents';
import { Timeline } from './timeline';
import { Transcript } from './transcript';
import type { TimelineView } from './use-timeline';
import { useTimeline } from './use-timeline';
import { WhyPanel } from './why-panel';

/** Milliseconds between two looks at a run in which nothing happens: a wait may end by itself. */
const refreshMs = 10_000;
/** Milliseconds after an entry until the run's state is asked for, and its explanation and transcript. */
const stateMs = 300;
const storyMs = 1_500;

/** Calls it once, a while after `key` changed, however often it changes meanwhile. */
function useSoonAfter(key: string, ms: number, work: () => void): void {
  const timer = useRef<number | undefined>(undefined);
  const before = useRef(key);
  useEffect(() => {
    if (key === before.current) return;
    before.current = key;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      work();
    }, ms);
  }, [key]);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    [],
  );
}

/** What the explanation depends on. */
function storyKey({ status, reason, toolCallsFailed, failovers, pending, healed }: Run): string {
  return JSON.stringify([status, reason, toolCallsFailed, failovers, pending.length, healed]);
}

/** The page. */
export function RunPage({ runId }: { readonly runId: string }): JSX.Element {
  const { api } = useConsole();
  const params = { path: { runId } };
  const run = useLoaded(
    useCallback(() => dataOf(api.GET('/v1/runs/{runId}', { params })), [api, runId]),
    refreshMs,
  );
  // The newest segment when the page opened: what people look for first, however long the run is.
  const segment = useRef<number | undefined>(undefined);
  segment.current ??= run.value?.segments;
  const view = useTimeline(runId, segment.current);
  const [version, setVersion] = useState('');
  const lastId = view.lastEntry?.id ?? '';
  useSoonAfter(lastId, stateMs, run.reload);
  useSoonAfter(lastId, storyMs, () => {
    setVersion(lastId);
  });
  return (
    <>
      <PageHeading title={`Run ${runId}`}>Run {safeText(runId)}</PageHeading>
      <ProblemNotice problem={run.problem ?? view.problem} />
      {run.value !== undefined && (
        <>
          <RunFacts run={run.value} />
          <RunActions run={run.value} onDone={run.reload} />
          <Waits run={run.value} onDecided={run.reload} />
          <Why run={run.value} />
          <Story run={run.value} view={view} version={version} />
        </>
      )}
    </>
  );
}

function Waits({
  run,
  onDecided,
}: {
  readonly run: Run;
  readonly onDecided: () => void;
}): JSX.Element {
  const waits = useMemo(() => run.pending.map((item) => ({ run, item })), [run]);
  return <WaitList waits={waits} isOneRun onDecided={onDecided} />;
}

/** The explanation. It reads the whole history, so it is asked for again only where the run has changed. */
function Why({ run }: { readonly run: Run }): JSX.Element {
  const { api } = useConsole();
  const { runId } = run;
  const why = useLoaded(
    useCallback(
      () => dataOf(api.GET('/v1/runs/{runId}/why', { params: { path: { runId } } })),
      [api, runId],
    ),
    0,
  );
  useSoonAfter(storyKey(run), storyMs, why.reload);
  return <WhyPanel why={why.value} />;
}

/** Timeline and transcript, side by side where there is room. */
function Story({
  run: { runId, startedAtMs },
  view,
  version,
}: {
  readonly run: Run;
  readonly view: TimelineView;
  readonly version: string;
}): JSX.Element {
  const [at, setAt] = useState<number>();
  return (
    <>
      <Charts iterations={view.iterations} isWhole={view.isWhole} onMove={setAt} />
      <Subagents subagents={view.subagents} />
      <div class="story">
        <Timeline view={view} runStartedAtMs={startedAtMs} at={at} onMove={setAt} />
        <Transcript runId={runId} version={version} />
      </div>
    </>
  );
}
