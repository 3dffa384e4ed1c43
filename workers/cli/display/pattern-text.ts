/** Patterns as people and programs read them. */
import { trustIn } from '../../../activities/learning/evidence';
import { describeFix } from '../../../activities/learning/fix-template';
import type { Pattern } from '../../../activities/stores/patterns/pattern-shape';
import { printable } from './printable';
import { table } from './terminal-text';

/** What a pattern is worth now. */
interface ShownEvidence {
  readonly successes: number;
  readonly failures: number;
  readonly lowerBound: number;
  /** Its fix, for people. */
  readonly text: string;
}

/** A pattern with what it is worth now, as programs read it. */
export function shownPattern(pattern: Pattern, nowMs: number): Pattern & ShownEvidence {
  const { successes, failures } = counts(pattern);
  const trust = Math.round(trustIn(pattern, nowMs) * 1_000) / 1_000;
  return { ...pattern, successes, failures, lowerBound: trust, text: describeFix(pattern.fix) };
}

/** Evidence without its age, in whole numbers. */
function counts({ observed, used }: Pattern): { successes: number; failures: number } {
  return {
    successes: Math.round(observed.successes + used.successes),
    failures: Math.round(observed.failures + used.failures),
  };
}

/** Patterns as a table that is cut to the width; ids are never cut, so that they can be copied. */
export function patternTable(
  patterns: readonly Pattern[],
  columns: number,
  nowMs: number,
): readonly string[] {
  const rows = patterns.map((pattern) => {
    const { successes, failures } = counts(pattern);
    const evidence = `${successes}/${failures}`;
    const trust = trustIn(pattern, nowMs).toFixed(2);
    const what = `${describeFix(pattern.fix)} -- ${pattern.errorText}`;
    return [
      pattern.id,
      pattern.status,
      trust,
      evidence,
      pattern.tenant,
      pattern.tool === '' ? '(reply)' : pattern.tool,
      what,
    ];
  });
  return table(
    [['PATTERN', 'STATUS', 'TRUST', 'OK/NOT', 'TENANT', 'TOOL', 'FIX -- ERROR'], ...rows],
    columns,
  );
}

function day(atMs: number | undefined): string {
  return atMs === undefined ? 'never' : new Date(atMs).toISOString().slice(0, 16).replace('T', ' ');
}

/** All about one pattern, one row each. */
export function patternText(pattern: Pattern, nowMs: number): string {
  const { observed, used, lastUses } = pattern;
  const tally = ({ successes, failures }: Pattern['used']): string =>
    `${successes.toFixed(1)} worked, ${failures.toFixed(1)} did not`;
  const rows: readonly (readonly [string, string])[] = [
    ['pattern', pattern.id],
    ['status', `${pattern.status} since ${day(pattern.statusAtMs)}`],
    ['trust', `${trustIn(pattern, nowMs).toFixed(2)} (lower bound of its rate of success)`],
    ['tenant', pattern.tenant],
    ['tool', pattern.tool === '' ? '(the reply as a whole)' : pattern.tool],
    ['error', `${pattern.errorCode}: ${pattern.errorText}`],
    ['fix', describeFix(pattern.fix)],
    ['seen', `${tally(observed)} (weighed by age)`],
    [
      'used',
      `${tally(used)}; last: ${lastUses.map(({ helped }) => (helped ? '+' : '-')).join('') || 'none'}`,
    ],
    ['created', day(pattern.createdAtMs)],
    ['last used', day(pattern.lastUsedAtMs)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(10)} ${printable(value)}`).join('\n');
}
