/** A run's timeline, live. */
import { useEffect, useState } from 'preact/hooks';
import { useConsole } from '../api/console-context';
import type { Problem } from '../api/gateway';
import { problemOf } from '../api/gateway';
import type { Entry, EventSource } from '../api/run-events';
import { entriesBefore, runEvents } from '../api/run-events';
import type { Iteration, Subagent } from './iterations';
import { RunTimeline } from './iterations';

/** What is known of a run's timeline. */
export interface TimelineView {
  readonly iterations: readonly Iteration[];
  readonly subagents: readonly Subagent[];
  readonly liveText?: string | undefined;
  readonly lastEntry?: Entry | undefined;
  /** False while the segments before the first one that was asked for are loading. */
  readonly isWhole: boolean;
  readonly connection: 'connecting' | 'live' | 'lost' | 'ended';
  readonly problem?: Problem;
}

/** Milliseconds between two drawings while entries arrive. */
const drawMs = 100;

/**
 * The timeline as it grows: that of the segment and those after it at once, and those before it as soon as they are read.
 *
 * Contract: `segment` is undefined until it is known, and then stays; 1 reads the timeline in its order.
 */
export function useTimeline(runId: string, segment: number | undefined): TimelineView {
  const { session } = useConsole();
  const [view, setView] = useState<TimelineView>({
    ...{ iterations: [], subagents: [], isWhole: false, connection: 'connecting' },
  });
  useEffect(() => {
    if (segment === undefined) return;
    const left = new AbortController();
    const source = { runId, token: session.token, signal: left.signal };
    const clear = readTimeline(source, segment, (changed) => {
      if (!left.signal.aborted) setView((before) => ({ ...before, ...changed }));
    });
    return () => {
      left.abort();
      clear();
    };
  }, [runId, session.token, segment]);
  return view;
}

/** Reads it until the signal of its source aborts. Returns what stops its drawing. */
function readTimeline(
  source: EventSource,
  segment: number,
  change: (view: Partial<TimelineView>) => void,
): () => void {
  const timeline = new RunTimeline();
  let connection: TimelineView['connection'] = 'connecting';
  let isWhole = segment === 1;
  let timer: number | undefined;
  const drawSoon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      const { iterations, subagents, liveText, lastEntry } = timeline;
      change({ iterations, subagents, liveText, lastEntry, connection, isWhole });
    }, drawMs);
  };
  const follow = async (): Promise<void> => {
    const connected = (isConnected: boolean): void => {
      connection = isConnected ? 'live' : 'lost';
      drawSoon();
    };
    for await (const arrived of runEvents(source, segment, connected)) {
      timeline.add(arrived);
      drawSoon();
    }
    connection = 'ended';
    drawSoon();
  };
  const fill = async (): Promise<void> => {
    if (isWhole) return;
    timeline.addEarlier(await entriesBefore(segment, source));
    isWhole = true;
    drawSoon();
  };
  Promise.all([follow(), fill()]).catch((thrown: unknown) => {
    change({ problem: problemOf(thrown) });
  });
  return () => {
    clearTimeout(timer);
  };
}
