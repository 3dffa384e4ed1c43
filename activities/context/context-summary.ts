/** What replaces summarized messages: a structured summary, merged and never summarized again. */
import { z } from 'zod';
import { noteProvenance } from '../../workflows/core/model-call/next-request';
import { defined } from '../../workflows/core/json';
import { fenceToolOutput } from '../untrusted/fence';
import { parsedJson } from '../providers/untrusted-json';
import { shortened, wellFormedText } from '../providers/request/well-formed';

/** A list of a summary. */
interface ListForm {
  /** Entries of the list, and characters of each (ADR 0024). */
  readonly entries: number;
  readonly chars: number;
  readonly title: string;
  /** Share of the characters that all lists get together. */
  readonly share: number;
}

/** The lists, in the order in which the model reads them. */
const lists = {
  people: { title: 'What people said, word for word', share: 0.2, entries: 60, chars: 600 },
  approvals: { title: 'Waiting for a person', share: 0.05, entries: 16, chars: 300 },
  files: { title: 'Files that were changed', share: 0.1, entries: 300, chars: 260 },
  errors: { title: 'Errors not yet resolved', share: 0.08, entries: 30, chars: 300 },
  decisions: { title: 'Decisions', share: 0.12, entries: 120, chars: 300 },
  facts: { title: 'Facts', share: 0.3, entries: 400, chars: 300 },
  progress: { title: 'Progress so far', share: 0.15, entries: 6, chars: 4_000 },
} as const satisfies Record<string, ListForm>;

type ListName = keyof typeof lists;

const listEntries = Object.entries(lists) as [ListName, ListForm][];

/** Lists of current state: only the newest summary counts. */
const current: ReadonlySet<ListName> = new Set(['approvals', 'errors']);

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
  return shortened(wellFormedText(text).trim(), chars);
}

function comparisonKey(text: string): string {
  return text
    .toLowerCase()
    .replace(/[\s.;,]+/g, ' ')
    .trim();
}

/** All entries once; the oldest and the newest if there are too many. */
function union(texts: readonly string[], { entries, chars }: ListForm): string[] {
  const byMeaning = new Map<string, string>();
  for (const text of texts) {
    const entry = bounded(text, chars);
    const key = comparisonKey(entry);
    if (key !== '' && !byMeaning.has(key)) byMeaning.set(key, entry);
  }
  const all = [...byMeaning.values()];
  if (all.length <= entries) return all;
  const oldest = Math.ceil(entries / 2);
  return [...all.slice(0, oldest), ...all.slice(all.length - (entries - oldest))];
}

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
  for (const [name, form] of listEntries) {
    const goals = name === 'people' ? goalsBefore(earlier, latest.goal) : [];
    const before = current.has(name) ? [] : earlier.flatMap((summary) => summary[name]);
    merged[name] = union([...goals, ...before, ...latest[name]], form);
  }
  const goalRef = latest.goalRef ?? refOfGoal(earlier, latest.goal);
  return {
    ...merged,
    ...defined({ goalRef }),
    compactions: earlier.reduce((sum, { compactions }) => sum + compactions, latest.compactions),
  };
}

/** As many entries as fit, the oldest and the newest first, and how many are left out. */
function shownList(entries: readonly string[], chars: number): { lines: string[]; left: number } {
  const shown = new Set<string>();
  let room = chars;
  for (let turn = 0; turn < entries.length; turn += 1) {
    const entry = entries.at(turn % 2 === 0 ? turn / 2 : -(turn + 1) / 2) ?? '';
    room -= entry.length + 3;
    if (room < 0 && shown.size > 0) break;
    shown.add(entry);
  }
  const lines = entries.filter((entry) => shown.has(entry));
  return {
    lines: lines.map((entry) => `- ${bounded(entry, chars)}`),
    left: entries.length - lines.length,
  };
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
  const shown = listEntries.flatMap(([name, { title, share }]) => {
    const entries = summary[name];
    if (entries.length === 0) return [];
    const part = shownList(entries, Math.floor(room * share * spareFactor(summary)));
    left += part.left;
    return [{ name, text: `${title}:\n${part.lines.join('\n')}` }];
  });
  const plain = shown.filter(({ name }) => name === 'people').map(({ text }) => text);
  // Made of what models and tools said: data, never instructions.
  const data = shown.filter(({ name }) => name !== 'people').map(({ text }) => text);
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
  const used = listEntries.filter(([name]) => summary[name].length > 0);
  const share = used.reduce((sum, [, form]) => sum + form.share, 0);
  return share > 0 ? Math.min(3, 1 / share) : 1;
}
