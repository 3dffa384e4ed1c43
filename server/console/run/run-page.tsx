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
  useEffect(() => {
    if (key === '') return;
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
function storyKey(run: Run | undefined, { connection }: TimelineView): string {
  if (run === undefined) return '';
  const { status, reason, toolCallsFailed, failovers, pending, healed } = run;
  return JSON.stringify([
    connection,
    status,
    reason,
    toolCallsFailed,
    failovers,
    pending.length,
    healed,
  ]);
}

/** The page. */
export function RunPage({ runId }: { readonly runId: string }): JSX.Element {
  const { api } = useConsole();
  const params = { path: { runId } };
  const run = useLoaded(
    useCallback(() => dataOf(api.GET('/v1/runs/{runId}', { params })), [api, runId]),
    refreshMs,
  );
  const why = useLoaded(
    useCallback(() => dataOf(api.GET('/v1/runs/{runId}/why', { params })), [api, runId]),
    0,
  );
  const view = useTimeline(runId);
  const [version, setVersion] = useState('');
  const lastId = view.lastEntry?.id ?? '';
  useSoonAfter(lastId, stateMs, run.reload);
  useSoonAfter(storyKey(run.value, view), storyMs, why.reload);
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
          <WhyPanel why={why.value} />
          <Story runId={runId} view={view} version={version} />
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

/** Timeline and transcript, side by side where there is room. */
function Story({
  runId,
  view,
  version,
}: {
  readonly runId: string;
  readonly view: TimelineView;
  readonly version: string;
}): JSX.Element {
  const [at, setAt] = useState<number>();
  return (
    <>
      <Charts iterations={view.iterations} onMove={setAt} />
      <Subagents subagents={view.subagents} />
      <div class="story">
        <Timeline view={view} at={at} onMove={setAt} />
        <Transcript runId={runId} version={version} />
      </div>
    </>
  );
}
