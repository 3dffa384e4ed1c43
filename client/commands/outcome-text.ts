/** A run's end as people read it: the answer or the reason, then what worked and what did not. */
import { costText } from '../../workflows/core/run-cost';
import type { RunOutcome } from '../../workflows/core/run-outcome';
import { cachedText } from '../../workflows/core/usage';
import type { Paint } from './terminal-text';
import { duration, printable, shortNumber } from './terminal-text';

/** Lines may stay lines here, but nothing that a terminal would obey. */
function printableLines(text: string): string {
  return text
    .split(/\r\n|[\r\n]/)
    .map((line) => line.replace(/\t/g, '  ').replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]+/gu, ''))
    .join('\n');
}

function headline(outcome: RunOutcome, paint: Paint): string {
  switch (outcome.status) {
    case 'completed':
      return `${paint('green', 'completed')}\n${printableLines(outcome.answer)}`;
    case 'failed':
      return `${paint('red', `failed (${outcome.reason})`)}\n${printableLines(outcome.message)}`;
    case 'stopped':
    case 'cancelled':
      return `${paint('yellow', outcome.status)}: ${printable(outcome.reason)}`;
  }
}

/** Several lines, each ended. */
export function outcomeText(outcome: RunOutcome, paint: Paint): string {
  const { report } = outcome;
  const { usage } = report;
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const healed = Object.entries(report.healed).map(([code, count]) => `${code} x${count}`);
  const facts = [
    `${report.iterations} iterations`,
    `${report.toolCallsSucceeded} tool calls succeeded, ${report.toolCallsFailed} failed`,
    `${shortNumber(input)} tokens in${cachedText(report.cachedShare)}, ${shortNumber(usage.outputTokens)} out`,
    ...(report.cost === undefined ? [] : [`cost ${costText(report.cost)}`]),
    duration(report.elapsedMs),
  ];
  const lines = ['', headline(outcome, paint), '', paint('dim', facts.join(' · '))];
  if (healed.length > 0) lines.push(paint('dim', `healed: ${healed.join(', ')}`));
  if (report.failovers > 0) lines.push(paint('dim', `failovers: ${report.failovers}`));
  if (report.compactions !== undefined)
    lines.push(paint('dim', `compactions: ${report.compactions}`));
  if (outcome.status === 'completed') {
    if (outcome.output !== undefined) lines.push('', JSON.stringify(outcome.output, undefined, 2));
  } else
    lines.push(
      ...listed('what worked', report.worked),
      ...listed('what did not', report.didNotWork),
    );
  return `${lines.join('\n')}\n`;
}

function listed(title: string, entries: readonly string[]): readonly string[] {
  if (entries.length === 0) return [];
  return [`${title}:`, ...entries.map((entry) => `  - ${printable(entry)}`)];
}
