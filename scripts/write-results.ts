/** Writes the generated part of docs/results.md from `bench/results.jsonl`: `npm run results`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { KeptResult } from '../bench/kept-results';
import { shareText } from '../bench/wilson';
import type { JsonObject, JsonValue } from '../workflows/core/json';

const root = path.join(__dirname, '..');
const page = path.join(root, 'docs', 'results.md');
const kept = path.join(root, 'bench', 'results.jsonl');
const marks = ['<!-- npm run results -->', '<!-- end of npm run results -->'] as const;

/** Results, oldest first. */
export function keptResults(): readonly KeptResult[] {
  if (!existsSync(kept)) return [];
  const lines = readFileSync(kept, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as KeptResult);
}

function fieldsOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}

function numberIn(value: JsonObject, name: string): number {
  return Number(value[name] ?? 0);
}

function countOf(value: JsonValue | undefined): number {
  return Array.isArray(value) ? value.length : 0;
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

function table(headings: readonly string[], rows: readonly string[]): string {
  return [row(headings), row(headings.map(() => '---')), ...rows].join('\n');
}

function share(hits: number, count: number): string {
  return count === 0 ? '–' : `${hits} of ${count}: ${shareText(hits, count)}`;
}

function areaRow(area: string, counts: JsonObject): string {
  const [faults, recoverable] = [numberIn(counts, 'faults'), numberIn(counts, 'recoverable')];
  const { added } = counts;
  const cost = fieldsOf(added);
  return row([
    area,
    faults,
    share(numberIn(counts, 'recovered'), recoverable),
    share(numberIn(counts, 'stoppedReadably'), faults - recoverable),
    'checks' in counts ? share(numberIn(counts, 'checksRight'), numberIn(counts, 'checks')) : '',
    added === undefined
      ? '–'
      : `${numberIn(cost, 'calls')}, ${numberIn(cost, 'tokens')}, ${numberIn(cost, 'seconds')}`,
  ]);
}

function scorecardTable(result: JsonObject): string {
  const areas = Object.entries(fieldsOf(result['byArea']));
  return table(
    [
      'Area',
      'Faults',
      'Recovered of the recoverable',
      'Stopped readably',
      'Other checks right',
      'Added calls, tokens, seconds',
    ],
    [
      ...areas.map(([area, counts]) => areaRow(area, fieldsOf(counts))),
      areaRow(`all, ${countOf(result['wrong'])} wrong`, result),
    ],
  );
}

function peersTable(result: JsonObject): string {
  const engines = Object.entries(fieldsOf(result['byEngine']));
  return table(
    [
      'Engine',
      'Faults that it can meet',
      'No counterpart',
      'Recovered',
      'Stopped at once',
      'Stopped late',
      'Went on',
      'Wrong',
      'Added calls',
    ],
    engines.map(([engine, value]) => {
      const counts = fieldsOf(value);
      return row([
        engine,
        ...[numberIn(counts, 'met'), numberIn(counts, 'noCounterpart')],
        share(numberIn(counts, 'recovered'), numberIn(counts, 'recoverable')),
        ...[numberIn(counts, 'stoppedReadably'), numberIn(counts, 'stoppedLate')],
        ...[numberIn(counts, 'wentOn'), countOf(counts['wrong']), numberIn(counts, 'addedCalls')],
      ]);
    }),
  );
}

function fuzzTable(result: JsonObject): string {
  return table(
    ['Cases', 'Crashes', 'Hangs', 'False successes'],
    [
      row([
        numberIn(result, 'cases').toLocaleString('en-US'),
        ...[result['crashes'], result['hangs'], result['falseSuccesses']].map(countOf),
      ]),
    ],
  );
}

function mutantsTable(result: JsonObject): string {
  const areas = Object.entries(fieldsOf(result['byArea']));
  return table(
    ['Area', 'Mutants', 'Disabled', 'Sample', 'Killed', 'Survived', 'Reached by no test'],
    areas.map(([area, value]) => {
      const counts = fieldsOf(value);
      const [sample, killed] = [numberIn(counts, 'sample'), numberIn(counts, 'killed')];
      return row([
        area,
        ...[numberIn(counts, 'mutants'), numberIn(counts, 'disabled'), sample],
        share(killed + numberIn(counts, 'timeout'), sample),
        ...[numberIn(counts, 'survived'), numberIn(counts, 'unreached')],
      ]);
    }),
  );
}

const tables: Readonly<Record<string, (result: JsonObject) => string>> = {
  scorecard: scorecardTable,
  peers: peersTable,
  fuzz: fuzzTable,
  mutants: mutantsTable,
};

/** The generated part: the newest result of each name, in the order of the tables above. */
export function generatedPart(results: readonly KeptResult[]): string {
  const newest = new Map(results.map((each) => [each.name, each]));
  const parts = Object.entries(tables).flatMap(([name, tableOf]) => {
    const found = newest.get(name);
    if (found === undefined) return [];
    const { command, date, node, machine, load, seconds, result } = found;
    const measured = `\`${command}\`, ${date}, ${machine}, Node ${node}, load ${load}, ${seconds} s.`;
    return [`### ${name}\n\n${measured}\n\n${tableOf(result)}`];
  });
  return parts.join('\n\n');
}

/** The page with its generated part. Errors: the page has no marks. */
export function withGeneratedPart(text: string, part: string): string {
  const [begin, end] = marks.map((mark) => text.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin)
    throw new Error(`docs/results.md has no "${marks[0]}" before "${marks[1]}".`);
  return `${text.slice(0, begin)}${marks[0]}\n\n${part}\n\n${text.slice(end)}`;
}

if (require.main === module)
  writeFileSync(page, withGeneratedPart(readFileSync(page, 'utf8'), generatedPart(keptResults())));
