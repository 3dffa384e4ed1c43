/** What the timeline tells: everything that begins must end, once. */
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import type { World } from './world';
import { withEntry } from './world';

/** Characters by which a wait's end is recognized: its text may say more at the end than at the start. */
const recognizedChars = 40;

function plusOne(counts: ReadonlyMap<string, number>, key: string): ReadonlyMap<string, number> {
  return withEntry(counts, key, (counts.get(key) ?? 0) + 1);
}

function isSame(started: string, ended: string): boolean {
  return (
    ended.startsWith(started.slice(0, recognizedChars)) ||
    started.startsWith(ended.slice(0, recognizedChars))
  );
}

/** Notes an entry of the timeline. */
export function noteEntry(world: World, entry: TimelineEntry): void {
  const { story } = world;
  // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check -- other entries begin and end nothing
  switch (entry.type) {
    case 'WaitStartedEvent':
      world.story = { ...story, openWaits: [...story.openWaits, keyOf(entry)] };
      return;
    case 'WaitEndedEvent': {
      const ended = keyOf(entry);
      const index = story.openWaits.findIndex((started) => isSame(started, ended));
      world.story =
        index < 0
          ? { ...story, oddEnd: ended }
          : { ...story, openWaits: story.openWaits.filter((_, at) => at !== index) };
      return;
    }
    case 'ToolCallStartedEvent':
      world.story = { ...story, started: plusOne(story.started, entry.toolCallId) };
      return;
    case 'ToolCallSucceededEvent':
    case 'ToolResultErrorEvent':
      world.story = { ...story, ended: plusOne(story.ended, entry.toolCallId) };
      return;
  }
}

function keyOf({
  wait,
  ...entry
}: Extract<TimelineEntry, { type: 'WaitStartedEvent' | 'WaitEndedEvent' }>): string {
  if ('id' in wait) return `${wait.kind} ${wait.id}`;
  return `${wait.kind}: ${'waitingFor' in entry ? entry.waitingFor : entry.waitedFor}`;
}
