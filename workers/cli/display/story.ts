/** A run's timeline as lines with the time since its start. */
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import { duration } from './terminal-text';
import type { StoryLine } from './timeline-lines';
import { storyLine } from './timeline-lines';

/** Columns of the time and the space behind it. */
export const storyIndent = 7;

/** Makes the teller of one run's story, which takes the entries in their order, in one piece or several. */
export function createStory(): (entries: readonly TimelineEntry[]) => readonly StoryLine[] {
  let startedAtMs: number | undefined;
  let lastError: string | undefined;
  let lastIteration: string | undefined;
  return (entries) =>
    entries.flatMap((entry) => {
      startedAtMs ??= entry.atMs;
      // An error of a tool or reply has had its own line.
      const isTold = entry.type === 'ErrorEvent' && entry.failure.message === lastError;
      if ('error' in entry) lastError = entry.error.message;
      const said = isTold ? undefined : storyLine(entry);
      if (said === undefined) return [];
      if (entry.type === 'IterationStartedEvent') {
        // A compaction happens between the start of an iteration and its call, which then starts once more.
        if (said.text === lastIteration) return [];
        lastIteration = said.text;
      }
      const time = duration(entry.atMs - startedAtMs).padStart(storyIndent - 2);
      return [{ ...said, text: `${time}  ${said.text}` }];
    });
}
