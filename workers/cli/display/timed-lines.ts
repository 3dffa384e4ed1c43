/** A run's timeline as lines with the time since its start. */
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import { duration } from './terminal-text';
import type { DisplayLine } from './timeline-lines';
import { timelineLine } from './timeline-lines';

/** Columns of the time and the space behind it. */
export const timeIndent = 7;

/** Makes the formatter of one run's timeline. It takes the entries in order, in one piece or several. */
export function createTimedLines(): (entries: readonly TimelineEntry[]) => readonly DisplayLine[] {
  let startedAtMs: number | undefined;
  let lastError: string | undefined;
  let lastIteration: string | undefined;
  return (entries) =>
    entries.flatMap((entry) => {
      startedAtMs ??= entry.atMs;
      // An error of a tool or reply has had its own line.
      const isShown = entry.type === 'ErrorEvent' && entry.failure.message === lastError;
      if ('error' in entry) lastError = entry.error.message;
      const line = isShown ? undefined : timelineLine(entry);
      if (line === undefined) return [];
      if (entry.type === 'IterationStartedEvent') {
        // A compaction happens between the start of an iteration and its call, which then starts once more.
        if (line.text === lastIteration) return [];
        lastIteration = line.text;
      }
      const time = duration(entry.atMs - startedAtMs).padStart(timeIndent - 2);
      return [{ ...line, text: `${time}  ${line.text}` }];
    });
}
