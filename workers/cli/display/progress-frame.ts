/** The lines at the foot of a live display: where the run is, what it used, what was healed. Pure. */
import type { RunStatusView } from '../../../workflows/core/view/status';
import { cachedText, costText } from '../../../workflows/core/budget/spend';
import type { Paint } from './terminal-text';
import { cutTo, duration, printable, shortNumber } from './terminal-text';

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** Columns left empty at the end of a line: a terminal that echoes `^C` there must not break the line. */
const sparedColumns = 3;

/** What a frame shows. */
export interface FrameInput {
  readonly status: RunStatusView | undefined;
  readonly elapsedMs: number;
  /** Counts the frames, for the spinner. */
  readonly tick: number;
  readonly columns: number;
}

/** Two lines, none wider than the terminal. */
export function progressFrame(input: FrameInput, paint: Paint): readonly string[] {
  const { status, tick, columns } = input;
  const width = Math.max(columns - sparedColumns, 20);
  const mark = status?.status === 'waiting' ? '‖' : (spinner[tick % spinner.length] ?? '');
  const doing = printable(status?.doing ?? 'waiting for the first news');
  const first = cutTo(`${mark} ${iterationText(status)}${doing}`, width);
  const second = cutTo(`  ${detailText(input)}`, width);
  return [paint(status?.status === 'waiting' ? 'yellow' : 'cyan', first), paint('dim', second)];
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
