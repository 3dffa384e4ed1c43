/** The demo's result: the JSON line for programs and a few lines for people. */
import type { RunResult } from '../../client/index';
import type { Story } from './story';

/** The demo's last line with `--json`. */
export interface DemoSummary {
  readonly status: RunResult['status'];
  /** The repaired project's tests pass, and nobody changed them. */
  readonly testsPass: boolean;
  readonly iterations: number;
  readonly healed: { readonly [code: string]: number };
  readonly failovers: number;
  readonly workerKills: number;
  readonly historyBytes: number;
  readonly historyEvents: number;
  readonly seconds: number;
}

function healedText(healed: DemoSummary['healed']): readonly string[] {
  const codes = Object.entries(healed).map(([code, times]) => `${times} x ${code}`);
  const lines: string[] = [];
  for (const code of codes) {
    const line = lines.at(-1);
    if (line === undefined || line.length + code.length > 60) lines.push(code);
    else lines[lines.length - 1] = `${line}, ${code}`;
  }
  return lines.length === 0 ? ['nothing was broken'] : lines;
}

/** What the run itself says of its end. */
function endText(result: RunResult): string {
  switch (result.status) {
    case 'completed':
      return result.answer;
    case 'failed':
      return result.message;
    case 'stopped':
    case 'cancelled':
      return result.reason;
  }
}

/** Prints the end. */
export function printSummary(story: Story, summary: DemoSummary, result: RunResult): void {
  const { testsPass, iterations, failovers, workerKills, historyBytes, historyEvents } = summary;
  story.line();
  story.heading(
    testsPass ? 'Repaired: the project’s own tests pass.' : 'Not repaired: the tests do not pass.',
  );
  story.line();
  story.fact('run', `${summary.status} after ${iterations} iterations, ${summary.seconds} s`);
  story.fact('', endText(result));
  const [first = '', ...more] = healedText(summary.healed);
  story.fact('healed', first);
  for (const line of more) story.fact('', line);
  story.fact('failovers', String(failovers));
  story.fact('kills', `${workerKills} x SIGKILL of the worker while a tool ran`);
  story.fact('history', `${historyEvents} events, ${(historyBytes / 1024).toFixed(0)} KB`);
}
