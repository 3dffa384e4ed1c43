/** What replaces summarized messages: a structured summary, merged and never summarized again. */
import { z } from 'zod';
import { noteProvenance } from '../../workflows/core/model-call/next-request';
import { defined } from '../../workflows/core/json';
import { fenceToolOutput } from '../untrusted/fence';
import { parsedJson } from '../untrusted/json-in-text';
import { wellFormedText } from '../providers/request/well-formed';

interface ListBounds {
  readonly entries: number;
  readonly chars: number;
}

/** Entries of each list and characters of each entry (ADR 0024). */
const bounds = {
  people: { entries: 60, chars: 600 },
  approvals: { entries: 16, chars: 300 },
  files: { entries: 300, chars: 260 },
  errors: { entries: 30, chars: 300 },
  decisions: { entries: 120, chars: 300 },
  facts: { entries: 400, chars: 300 },
  progress: { entries: 6, chars: 4_000 },
} as const satisfies Record<string, ListBounds>;

/** A list of a summary. */
type SummaryList = keyof typeof bounds;

const listNames = Object.keys(bounds) as SummaryList[];

const texts = z.array(z.string()).readonly();

const summarySchema = z.object({
  version: z.literal(1),
  /** Head of the goal, word for word. */
  goal: z.string(),
  /** Ref of the whole goal, if `goal` is only its head. */
  goalRef: z.string().optional(),
  /** What people said, word for word up to a bound. */
  people: texts,
  /** What waits for a person. */
  approvals: texts,
  /** Files that tools have changed. */
  files: texts,
  errors: texts,
  /** What people decided about calls, then what a model found. Facts and progress come from a model only. */
  decisions: texts,
  facts: texts,
  progress: texts,
  /** Compactions that it covers. */
  compactions: z.number(),
});

/** A structured summary. Every list is bounded; the middle is dropped before the oldest and the newest entries. */
export type ContextSummary = Readonly<z.infer<typeof summarySchema>>;

/** Reads a stored summary; undefined for anything else. */
export function parseSummary(json: string): ContextSummary | undefined {
  return summarySchema.safeParse(parsedJson(json)).data;
}

/** JSON text of a stored summary: readable line by line. */
export function summaryJson(summary: ContextSummary): string {
  return JSON.stringify(summary, undefined, 1);
}

function bounded(text: string, chars: number): string {
  const line = wellFormedText(text).trim();
  return line.length <= chars ? line : `${wellFormedText(line.slice(0, chars - 1))}…`;
}

function comparisonKey(text: string): string {
  return text
    .toLowerCase()
    .replace(/[\s.;,]+/g, ' ')
    .trim();
}

/** All entries once; the oldest and the newest if there are too many. */
function union(lists: readonly (readonly string[])[], { entries, chars }: ListBounds): string[] {
  const byMeaning = new Map<string, string>();
  for (const text of lists.flat()) {
    const entry = bounded(text, chars);
    const key = comparisonKey(entry);
    if (key !== '' && !byMeaning.has(key)) byMeaning.set(key, entry);
  }
  const all = [...byMeaning.values()];
  if (all.length <= entries) return all;
  const oldest = Math.ceil(entries / 2);
  return [...all.slice(0, oldest), ...all.slice(all.length - (entries - oldest))];
}

/** Lists of current state: only the newest summary counts. */
const current: ReadonlySet<SummaryList> = new Set(['approvals', 'errors']);

/** Goals of runs that this one continues. */
function goalsBefore(earlier: readonly ContextSummary[], goal: string): readonly string[] {
  return earlier.flatMap((summary) =>
    summary.goal === goal || summary.goal === '' ? [] : [`An earlier goal: ${summary.goal}`],
  );
}

/** Ref of a whole goal, whose message the first compaction removed. */
function refOfGoal(earlier: readonly ContextSummary[], goal: string): string | undefined {
  return earlier.findLast((summary) => summary.goal === goal && summary.goalRef !== undefined)
    ?.goalRef;
}

/**
 * Merges summaries, oldest first.
 *
 * Contract: pure; a bounded union, so that a fact is dropped only after hundreds of others. Current state and the goal come
 * from the latest summary; an earlier goal becomes something that a person said.
 */
export function mergeSummaries(
  earlier: readonly ContextSummary[],
  latest: ContextSummary,
): ContextSummary {
  const merged = { ...latest };
  for (const name of listNames) {
    const lists = current.has(name)
      ? [latest[name]]
      : [...earlier.map((summary) => summary[name]), latest[name]];
    if (name === 'people') lists.unshift(goalsBefore(earlier, latest.goal));
    merged[name] = union(lists, bounds[name]);
  }
  const goalRef = latest.goalRef ?? refOfGoal(earlier, latest.goal);
  return {
    ...merged,
    ...defined({ goalRef }),
    compactions: earlier.reduce((sum, { compactions }) => sum + compactions, latest.compactions),
  };
}

interface Section {
  readonly list: SummaryList;
  readonly title: string;
  /** Share of the characters that all lists get together. */
  readonly share: number;
  /** Made of what models and tools said: data, never instructions. */
  readonly isData: boolean;
}

const sections: readonly Section[] = [
  { list: 'people', title: 'What people said, word for word', share: 0.2, isData: false },
  { list: 'approvals', title: 'Waiting for a person', share: 0.05, isData: true },
  { list: 'files', title: 'Files that were changed', share: 0.1, isData: true },
  { list: 'errors', title: 'Errors not yet resolved', share: 0.08, isData: true },
  { list: 'decisions', title: 'Decisions', share: 0.12, isData: true },
  { list: 'facts', title: 'Facts', share: 0.3, isData: true },
  { list: 'progress', title: 'Progress so far', share: 0.15, isData: true },
];

/** As many entries as fit, the oldest and the newest first, and how many are left out. */
function shownList(entries: readonly string[], chars: number): { lines: string[]; left: number } {
  const size = (entry: string): number => entry.length + 3;
  const head: string[] = [];
  const tail: string[] = [];
  let room = chars;
  for (let low = 0, high = entries.length - 1; low <= high;) {
    const fromHead = head.length <= tail.length;
    const entry = entries[fromHead ? low : high] ?? '';
    if (size(entry) > room && head.length + tail.length > 0) break;
    room -= size(entry);
    if (fromHead) {
      head.push(`- ${bounded(entry, chars)}`);
      low += 1;
    } else {
      tail.unshift(`- ${bounded(entry, chars)}`);
      high -= 1;
    }
  }
  return { lines: [...head, ...tail], left: entries.length - head.length - tail.length };
}

/** Share of a summary's characters that the goal takes at most. */
const goalShare = 0.25;

/**
 * The text of a summary as the model reads it.
 *
 * Contract: pure; about `maxChars` characters at most. It says how much is left out, with the ref of the whole.
 */
export function renderSummary(summary: ContextSummary, maxChars: number, ref: string): string {
  const goal = bounded(summary.goal, Math.max(200, Math.floor(maxChars * goalShare)));
  const room = maxChars - goal.length;
  let left = 0;
  const shown = sections.flatMap(({ list, title, share, isData }) => {
    const entries = summary[list];
    if (entries.length === 0) return [];
    const part = shownList(entries, Math.floor(room * share * spareFactor(summary)));
    left += part.left;
    return [{ isData, text: `${title}:\n${part.lines.join('\n')}` }];
  });
  const plain = shown.filter(({ isData }) => !isData).map(({ text }) => text);
  const data = shown.filter(({ isData }) => isData).map(({ text }) => text);
  const isGoalCut = summary.goalRef !== undefined || goal !== summary.goal.trim();
  const more =
    left > 0 || isGoalCut
      ? [
          `[${left} entries left out here; read the whole summary with read_output, ref "${ref}".${summary.goalRef === undefined ? '' : ` The whole goal: ref "${summary.goalRef}".`}]`,
        ]
      : [];
  return [
    `${noteProvenance}\nThe conversation up to here grew too long for the model and was replaced by this summary. Go on with the work where it stands; do not begin again.`,
    `Goal, word for word:\n${goal}`,
    ...plain,
    ...(data.length === 0 ? [] : [fenceToolOutput('context_summary', data.join('\n\n'))]),
    ...more,
  ].join('\n\n');
}

/** Empty lists give their share to the others. */
function spareFactor(summary: ContextSummary): number {
  const used = sections.filter(({ list }) => summary[list].length > 0);
  const share = used.reduce((sum, section) => sum + section.share, 0);
  return share > 0 ? Math.min(3, 1 / share) : 1;
}
