/** Shows a run in progress: redrawn in place on a terminal, plain lines in a pipe, JSON lines for programs. */
import { defined } from '../../../workflows/core/json';
import { cachedText, costText } from '../../../workflows/core/budget/spend';
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import type { RunStatusView } from '../../../workflows/core/view/status';
import type { RunMoment } from '../../../client/run-handle';
import type { CommandOutput } from '../command-context';
import { outcomeText } from './outcome-text';
import type { DisplayLine, Paint } from './terminal-text';
import { printable, printableJson, printableLines } from './printable';
import { cutTo, duration, foldTo, painter, shortNumber, wrapTo } from './terminal-text';
import { createTimedLines, pendingKey, pendingLines, timeIndent } from './timeline-lines';

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
    show({ entries, deltas }) {
      for (const entry of [...deltas, ...entries]) write(`${printableJson(entry)}\n`);
    },
    end(outcome) {
      write(`${printableJson({ type: 'RunOutcome', ...outcome })}\n`);
    },
    close: () => undefined,
  };
}

/** Turns moments into lines; what waits is shown once, and the end is left to the outcome. */
function createLinePrinter(runId: string): (moment: RunMoment) => readonly DisplayLine[] {
  const timedLines = createTimedLines();
  let waiting: readonly string[] = [];
  return ({ entries, pending }) => {
    const lines = timedLines(entries.filter(({ type }) => type !== 'RunEndedEvent'));
    const asked = pending
      .filter((item) => !waiting.includes(pendingKey(item)))
      .flatMap((item) => pendingLines(runId, item));
    waiting = pending.map(pendingKey);
    const indent = ' '.repeat(timeIndent);
    return [
      ...lines,
      ...asked.map((line) => ({
        ...line,
        isWhole: true as const,
        text: `${indent}${line.text}`,
        ...defined({ gutter: line.gutter === undefined ? undefined : `${indent}${line.gutter}` }),
      })),
    ];
  };
}

function lineDisplay({ write }: CommandOutput, runId: string): LiveDisplay {
  const tell = createLinePrinter(runId);
  return {
    show(moment) {
      for (const { text } of tell(moment)) write(`${text}\n`);
    },
    end(outcome) {
      write(outcomeText(outcome, painter(false)));
    },
    close: () => undefined,
  };
}

function terminalDisplay(output: CommandOutput, runId: string): LiveDisplay {
  const { write, columns } = output;
  const paint = painter(output.hasColors);
  const tell = createLinePrinter(runId);
  const openedAtMs = Date.now();
  let startedAtMs = openedAtMs;
  let status: RunMoment['status'];
  let said = '';
  let tick = 0;
  let drawn = 0;
  let isOpen = true;
  const erase = (): string => (drawn === 0 ? '' : eraseLine + eraseLineAbove.repeat(drawn - 1));
  const draw = (above = ''): void => {
    const elapsedMs = Date.now() - startedAtMs;
    const frame = progressFrame({ status, said, elapsedMs, tick, columns: columns() }, paint);
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
      said = saidAfter(said, moment);
      const width = Math.max(columns() - 1, 20);
      const lines = tell(moment).flatMap(({ text, color, gutter, isWhole = false }) => {
        const wrapped = (): readonly string[] =>
          gutter === undefined ? wrapTo(text, width, timeIndent) : foldTo(text, width, gutter);
        const shown = isWhole ? wrapped() : [cutTo(text, width)];
        return shown.map((line) => (color === undefined ? line : paint(color, line)));
      });
      draw(lines.map((line) => `${line}\n`).join(''));
    },
    end(outcome) {
      close();
      write(outcomeText(outcome, paint));
    },
    close,
  };
}

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** Columns left empty at the end of a line: a terminal that echoes `^C` there must not break the line. */
const sparedColumns = 3;

/** What a frame shows. */
export interface FrameInput {
  readonly status: RunStatusView | undefined;
  /** What the model has said so far in a reply that has not ended. */
  readonly said?: string;
  readonly elapsedMs: number;
  /** Counts the frames, for the spinner. */
  readonly tick: number;
  readonly columns: number;
}

/** Entries that end or begin the text of a reply. */
const endOfText: ReadonlySet<string> = new Set<RunMoment['entries'][number]['type']>([
  'IterationStartedEvent',
  'ModelRepliedEvent',
  'FailoverEvent',
  'RunEndedEvent',
]);

/** The text of the reply in progress after this moment. */
function saidAfter(said: string, { deltas, entries }: RunMoment): string {
  const whole = deltas.reduce((text, delta) => text.slice(0, delta.offset) + delta.text, said);
  return entries.some(({ type }) => endOfText.has(type)) ? '' : whole;
}

/** Lines of the reply in progress: its end is what people read. */
const saidLines = 4;

function endOfSaid(said: string, width: number): readonly string[] {
  const end = printableLines(said.slice(-(saidLines + 1) * width));
  const lines = end.flatMap((line) => wrapTo(line, width)).filter((line) => line.trim() !== '');
  return lines.slice(-saidLines);
}

/** The end of the reply in progress, and two lines of where the run is, none wider than the terminal. */
export function progressFrame(input: FrameInput, paint: Paint): readonly string[] {
  const { status, said = '', tick, columns } = input;
  const width = Math.max(columns - sparedColumns, 20);
  const mark = status?.status === 'waiting' ? '‖' : (spinner[tick % spinner.length] ?? '');
  const doing = printable(status?.doing ?? 'waiting for the first news');
  const first = cutTo(`${mark} ${iterationText(status)}${doing}`, width);
  const second = cutTo(`  ${detailText(input)}`, width);
  return [
    ...endOfSaid(said, width),
    paint(status?.status === 'waiting' ? 'yellow' : 'cyan', first),
    paint('dim', second),
  ];
}

function iterationText(status: RunStatusView | undefined): string {
  if (status === undefined || status.iteration === 0) return '';
  const of = status.maxIterations === undefined ? '' : `/${status.maxIterations}`;
  return `iteration ${status.iteration}${of} · `;
}

function detailText({ status, elapsedMs }: FrameInput): string {
  const parts = [duration(elapsedMs)];
  if (status !== undefined) {
    const { usage, healed } = status;
    const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
    parts.push(
      `${shortNumber(input)} in${cachedText(status.cachedShare)} ${shortNumber(usage.outputTokens)} out`,
    );
    parts.push(costText(status.cost));
    const failed = status.toolCallsFailed === 0 ? '' : ` ${status.toolCallsFailed} failed`;
    parts.push(`tools ${status.toolCallsSucceeded} ok${failed}`);
    const codes = Object.entries(healed).map(([code, count]) => `${code} x${count}`);
    if (codes.length > 0) parts.push(`healed ${codes.join(', ')}`);
    if (status.route !== undefined)
      parts.push(`${printable(status.route)}${status.isFallback ? ' (fallback)' : ''}`);
  }
  return parts.join(' · ');
}
