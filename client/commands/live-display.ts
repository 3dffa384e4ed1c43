/** Shows a run while it goes on: redrawn in place on a terminal, plain lines in a pipe, JSON lines for programs. */
import type { TimelineEntry } from '../../workflows/core/run-protocol';
import type { RunOutcome } from '../../workflows/core/run-outcome';
import type { RunMoment } from '../run-handle';
import type { CommandOutput } from './command-context';
import { outcomeText } from './outcome-text';
import { progressFrame } from './progress-frame';
import { cutTo, duration, painter } from './terminal-text';
import type { StoryLine } from './timeline-lines';
import { pendingKey, pendingLine, storyLine } from './timeline-lines';

/** A display of one run. */
export interface LiveDisplay {
  show(moment: RunMoment): void;
  /** Shows the end and leaves the terminal as it was. */
  end(outcome: RunOutcome): void;
  /** Leaves the terminal as it was, with the run going on. Idempotent. */
  close(): void;
}

const redrawMs = 120;
const hideCursor = '\u001B[?25l';
const showCursor = '\u001B[?25h';
/** Erases the line that the cursor is in, and goes up one line and erases that. */
const eraseLine = '\r\u001B[2K';
const eraseLineAbove = '\u001B[1A\u001B[2K';

/** Chooses the display for this output. */
export function createLiveDisplay(
  output: CommandOutput,
  runId: string,
  json: boolean,
): LiveDisplay {
  if (json) return jsonDisplay(output);
  return output.isTerminal ? terminalDisplay(output, runId) : lineDisplay(output, runId);
}

function jsonDisplay({ write }: CommandOutput): LiveDisplay {
  return {
    show({ entries }) {
      for (const entry of entries) write(`${JSON.stringify(entry)}\n`);
    },
    end(outcome) {
      write(`${JSON.stringify({ type: 'RunOutcome', ...outcome })}\n`);
    },
    close: () => undefined,
  };
}

/** Turns moments into story lines with the time since the start; what waits is told once. */
function createStory(runId: string): (moment: RunMoment) => readonly StoryLine[] {
  let startedAtMs: number | undefined;
  let waiting: readonly string[] = [];
  let lastError: string | undefined;
  return ({ entries, pending }) => {
    const lines: StoryLine[] = [];
    for (const entry of entries) {
      startedAtMs ??= entry.atMs;
      const said = isToldOtherwise(entry, lastError) ? undefined : storyLine(entry);
      if ('error' in entry) lastError = entry.error.message;
      if (said === undefined) continue;
      lines.push({
        ...said,
        text: `${duration(entry.atMs - startedAtMs).padStart(5)}  ${said.text}`,
      });
    }
    for (const item of pending) {
      if (waiting.includes(pendingKey(item))) continue;
      const said = pendingLine(runId, item);
      lines.push({ ...said, text: `       ${said.text}` });
    }
    waiting = pending.map(pendingKey);
    return lines;
  };
}

/** The outcome tells the end at length; an error of a tool or reply has had its own line. */
function isToldOtherwise(entry: TimelineEntry, lastError: string | undefined): boolean {
  if (entry.type === 'RunEndedEvent') return true;
  return entry.type === 'ErrorEvent' && entry.failure.message === lastError;
}

function lineDisplay({ write }: CommandOutput, runId: string): LiveDisplay {
  const story = createStory(runId);
  return {
    show(moment) {
      for (const { text } of story(moment)) write(`${text}\n`);
    },
    end(outcome) {
      write(outcomeText(outcome, painter(false)));
    },
    close: () => undefined,
  };
}

function terminalDisplay(output: CommandOutput, runId: string): LiveDisplay {
  const { write, columns } = output;
  const paint = painter(output.hasColours);
  const story = createStory(runId);
  const openedAtMs = Date.now();
  let startedAtMs = openedAtMs;
  let status: RunMoment['status'];
  let tick = 0;
  let drawn = 0;
  let isOpen = true;
  const erase = (): string => (drawn === 0 ? '' : eraseLine + eraseLineAbove.repeat(drawn - 1));
  const draw = (above = ''): void => {
    const elapsedMs = Date.now() - startedAtMs;
    const frame = progressFrame({ status, elapsedMs, tick, columns: columns() }, paint);
    write(`${erase()}${above}${frame.join('\n')}`);
    drawn = frame.length;
  };
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    clearInterval(timer);
    process.off('exit', close);
    write(`${erase()}${showCursor}`);
  };
  const timer = setInterval(() => {
    tick += 1;
    draw();
  }, redrawMs);
  process.on('exit', close);
  write(hideCursor);
  draw();
  return {
    show(moment) {
      const [first] = moment.entries;
      if (first?.type === 'RunStartedEvent') startedAtMs = first.atMs;
      status = moment.status ?? status;
      const width = Math.max(columns() - 1, 20);
      const lines = story(moment).map(({ text, colour }) => {
        const cut = cutTo(text, width);
        return `${colour === undefined ? cut : paint(colour, cut)}\n`;
      });
      draw(lines.join(''));
    },
    end(outcome) {
      close();
      write(outcomeText(outcome, paint));
    },
    close,
  };
}
