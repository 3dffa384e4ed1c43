/** A run's timeline, live. */
import { useEffect, useState } from 'preact/hooks';
import { useConsole } from '../api/console-context';
import type { Problem } from '../api/gateway';
import { problemOf } from '../api/gateway';
import type { Entry } from '../api/run-events';
import { runEvents } from '../api/run-events';
import type { Iteration, Subagent } from './iterations';
import { RunTimeline } from './iterations';

/** What is known of a run's timeline. */
export interface TimelineView {
  readonly iterations: readonly Iteration[];
  readonly subagents: readonly Subagent[];
  readonly liveText?: string | undefined;
  readonly lastEntry?: Entry | undefined;
  readonly connection: 'connecting' | 'live' | 'lost' | 'ended';
  readonly problem?: Problem;
}

/** Milliseconds between two drawings while entries arrive. */
const drawMs = 100;

/** The timeline from its beginning, as it grows. */
export function useTimeline(runId: string): TimelineView {
  const { session } = useConsole();
  const [view, setView] = useState<TimelineView>({
    ...{ iterations: [], subagents: [], connection: 'connecting' },
  });
  useEffect(() => {
    const timeline = new RunTimeline();
    const left = new AbortController();
    let connection: TimelineView['connection'] = 'connecting';
    let timer: number | undefined;
    const draw = (): void => {
      timer = undefined;
      const { iterations, subagents, liveText, lastEntry } = timeline;
      setView({ iterations, subagents, liveText, lastEntry, connection });
    };
    const drawSoon = (): void => {
      timer ??= setTimeout(draw, drawMs);
    };
    const follow = async (): Promise<void> => {
      const connected = (isConnected: boolean): void => {
        connection = isConnected ? 'live' : 'lost';
        drawSoon();
      };
      for await (const arrived of runEvents(runId, session.token, left.signal, connected)) {
        timeline.add(arrived);
        drawSoon();
      }
      connection = 'ended';
      drawSoon();
    };
    follow().catch((thrown: unknown) => {
      if (left.signal.aborted) return;
      const problem = problemOf(thrown);
      setView((before) => ({ ...before, problem }));
    });
    return () => {
      left.abort();
      clearTimeout(timer);
    };
  }, [runId, session.token]);
  return view;
}
