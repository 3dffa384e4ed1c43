/** `holdfast patterns`: what runs have learned, and what people decide about it. */
import { judged, trustIn } from '../../../activities/learning/evidence';
import type { Pattern, PatternStatus } from '../../../activities/stores/patterns/pattern-shape';
import type { PatternStore } from '../../../activities/stores/patterns/pattern-store';
import { UserError } from '../../../activities/lifecycle/user-error';
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';
import { withStore } from '../environment-store';
import { describeFix } from '../../../activities/learning/fix-template';
import { printable, table } from '../display/terminal-text';
import { defined } from '../../../workflows/core/json';

interface PatternFilter extends CommonOptions {
  readonly tenant?: string;
  readonly tool?: string;
  readonly status?: PatternStatus;
}

/** Errors: `UserError` for an id that is not in the store. */
async function patternOf(patterns: PatternStore, id: string): Promise<Pattern> {
  const pattern = await patterns.pattern(id);
  if (pattern !== undefined) return pattern;
  throw new UserError(
    `Pattern "${id.slice(0, 40)}" is not in this store. \`holdfast patterns list\` shows the patterns.`,
  );
}

function switched(
  known: Pattern | undefined,
  name: 'disable' | 'enable',
  nowMs: number,
): Pattern | undefined {
  if (known === undefined) return undefined;
  if (name === 'disable') return { ...known, status: 'disabled', statusAtMs: nowMs };
  if (known.status === 'active') return known;
  return judged({ ...known, status: 'candidate', statusAtMs: nowMs, lastUses: [] }, nowMs);
}

/** `holdfast patterns list`. */
export async function listPatterns(context: CommandContext, options: PatternFilter): Promise<void> {
  const { output } = context;
  const { tenant, tool, status } = options;
  const patterns = await withStore(context, (store) =>
    store.patterns.patterns(defined({ tenant, tool })),
  );
  const found = patterns.filter((pattern) => status === undefined || pattern.status === status);
  const nowMs = Date.now();
  if (options.json === true)
    for (const pattern of found) output.write(`${JSON.stringify(shownPattern(pattern, nowMs))}\n`);
  else if (found.length === 0) output.note('No patterns.');
  else output.write(`${patternTable(found, output.columns(), nowMs).join('\n')}\n`);
}

/** `holdfast patterns show`. */
export async function showPattern(
  context: CommandContext,
  id: string,
  options: CommonOptions,
): Promise<void> {
  const pattern = await withStore(context, ({ patterns }) => patternOf(patterns, id));
  const nowMs = Date.now();
  print(context, options, shownPattern(pattern, nowMs), patternText(pattern, nowMs));
}

/** `holdfast patterns disable`, which holds until `enable` lets the pattern's evidence decide again. */
export async function switchPattern(
  to: 'disable' | 'enable',
  context: CommandContext,
  id: string,
  options: CommonOptions,
): Promise<void> {
  const nowMs = Date.now();
  const pattern = await withStore(context, async ({ patterns }) => {
    await patternOf(patterns, id);
    return patterns.updatePattern(id, (known) => switched(known, to, nowMs));
  });
  if (pattern === undefined) throw new UserError(`Pattern "${id}" was deleted.`);
  const text = `pattern ${pattern.id} is ${pattern.status}`;
  print(context, options, shownPattern(pattern, nowMs), text);
}

/** A pattern with what it is worth now, as programs read it. */
function shownPattern(pattern: Pattern, nowMs: number): object {
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
function patternTable(
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
      printable(what),
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
function patternText(pattern: Pattern, nowMs: number): string {
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
