/** A run's end as people read it: the answer or the reason, then what worked and what did not. */
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import { cachedText, costText } from '../../../workflows/core/budget/spend';
import type { Paint } from './terminal-text';
import { printable, printableJson, printableLines } from './printable';
import { duration, shortNumber } from './terminal-text';

function headline(outcome: RunOutcome, paint: Paint): string {
  switch (outcome.status) {
    case 'completed':
      return `${paint('green', 'completed')}\n${printableLines(outcome.answer).join('\n')}`;
    case 'failed':
      return `${paint('red', `failed (${outcome.reason})`)}\n${printableLines(outcome.message).join('\n')}`;
    case 'stopped':
    case 'cancelled':
      return `${paint('yellow', outcome.status)}: ${printable(outcome.reason)}`;
  }
}

/** `1 iteration`, `3 iterations`. */
function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function factsOf({ report }: RunOutcome): readonly string[] {
  const { usage } = report;
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const facts = [
    counted(report.iterations, 'iteration'),
    `${counted(report.toolCallsSucceeded, 'tool call')} succeeded, ${report.toolCallsFailed} failed`,
    `${shortNumber(input)} tokens in${cachedText(report.cachedShare)}, ${shortNumber(usage.outputTokens)} out`,
    `cost ${costText(report.cost)}`,
    duration(report.elapsedMs),
  ];
  const times = (counts: object): string =>
    Object.entries(counts)
      .map(([what, count]) => `${what} x${count}`)
      .join(', ');
  const { corrections } = report;
  return [
    facts.join(' · '),
    ...(times(report.healed) === ''
      ? []
      : [`healed: ${times(report.healed)} (by ${times(report.healedBy)})`]),
    ...(corrections === undefined
      ? []
      : [
          `corrected at the first retry: ${corrections.atFirstRetry} of ${counted(corrections.troubles, 'error')}`,
        ]),
    ...(report.failovers === 0 ? [] : [`failovers: ${report.failovers}`]),
    ...(report.compactions === undefined ? [] : [`compactions: ${report.compactions}`]),
  ];
}

/** The answer or the reason, then the output, what worked and what did not, and advice. */
export function endText(outcome: RunOutcome, paint: Paint): readonly string[] {
  return [headline(outcome, paint), ...leftBehind(outcome)];
}

/** Several lines, each ended. */
export function outcomeText(outcome: RunOutcome, paint: Paint): string {
  const facts = factsOf(outcome).map((fact) => paint('dim', fact));
  return `${['', headline(outcome, paint), '', ...facts, ...leftBehind(outcome)].join('\n')}\n`;
}

function leftBehind(outcome: RunOutcome): readonly string[] {
  const { worked, didNotWork, unread = [], advice = [] } = outcome.report;
  const last = [
    ...listed('what people said that no model read', unread),
    ...listed('advice', advice),
  ];
  if (outcome.status !== 'completed')
    return [...listed('what worked', worked), ...listed('what did not', didNotWork), ...last];
  const { output } = outcome;
  return [
    ...(output === undefined ? [] : ['', printableJson(output, 2)]),
    ...listed('what failed on the way', didNotWork),
    ...last,
  ];
}

/** Equal entries are one, with how many there were. */
function listed(title: string, entries: readonly string[]): readonly string[] {
  if (entries.length === 0) return [];
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(entry, (counts.get(entry) ?? 0) + 1);
  const lines = [...counts].map(
    ([entry, count]) => `  - ${printable(entry)}${count === 1 ? '' : ` (x${count})`}`,
  );
  return [`${title}:`, ...lines];
}
