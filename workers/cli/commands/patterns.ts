/** `holdfast patterns`: what runs have learned, and what people decide about it. */
import { judged } from '../../../activities/learning/evidence';
import type { Pattern, PatternStatus } from '../../../activities/stores/patterns/pattern-shape';
import type { PatternStore } from '../../../activities/stores/patterns/pattern-store';
import { UserError } from '../../../activities/lifecycle/user-error';
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';
import { schedulePatterns, scheduleText } from '../../../client/pattern-schedule';
import { readEnvironment } from '../../env';
import { withStore } from '../environment-store';
import { patternTable, patternText, shownPattern } from '../display/pattern-text';
import { defined } from '../../../workflows/core/json';
import { withTemporal } from '../reach-temporal';

interface PatternFilter extends CommonOptions {
  readonly tenant?: string;
  readonly tool?: string;
  readonly status?: PatternStatus;
}

function withPatterns<Result>(
  context: CommandContext,
  work: (patterns: PatternStore) => Promise<Result>,
): Promise<Result> {
  return withStore(context, ({ patterns }) => work(patterns));
}

async function selected(
  patterns: PatternStore,
  { tenant, tool, status }: PatternFilter,
): Promise<readonly Pattern[]> {
  const found = await patterns.patterns(tenant);
  return found.filter(
    (pattern) =>
      (tool === undefined || pattern.tool === tool) &&
      (status === undefined || pattern.status === status),
  );
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
  const found = await withPatterns(context, (patterns) => selected(patterns, options));
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
  const pattern = await withPatterns(context, (patterns) => patternOf(patterns, id));
  const nowMs = Date.now();
  print(context, options, shownPattern(pattern, nowMs), patternText(pattern, nowMs));
}

/** `holdfast patterns disable`: holds until `enable`. */
export function disablePattern(
  context: CommandContext,
  id: string,
  options: CommonOptions,
): Promise<void> {
  return switchPattern(context, 'disable', id, options);
}

/** `holdfast patterns enable`: the pattern's evidence decides again. */
export function enablePattern(
  context: CommandContext,
  id: string,
  options: CommonOptions,
): Promise<void> {
  return switchPattern(context, 'enable', id, options);
}

async function switchPattern(
  context: CommandContext,
  to: 'disable' | 'enable',
  id: string,
  options: CommonOptions,
): Promise<void> {
  const nowMs = Date.now();
  const pattern = await withPatterns(context, async (patterns) => {
    await patternOf(patterns, id);
    return patterns.updatePattern(id, (known) => switched(known, to, nowMs));
  });
  if (pattern === undefined) throw new UserError(`Pattern "${id}" was deleted.`);
  const text = `pattern ${pattern.id} is ${pattern.status}`;
  print(context, options, shownPattern(pattern, nowMs), text);
}

/** `holdfast patterns export`. */
export async function exportPatterns(
  context: CommandContext,
  options: PatternFilter & { readonly observations?: boolean },
): Promise<void> {
  const { output } = context;
  const nowMs = Date.now();
  await withPatterns(context, async (patterns) => {
    for (const pattern of await selected(patterns, options))
      output.write(`${JSON.stringify({ type: 'pattern', ...shownPattern(pattern, nowMs) })}\n`);
    if (options.observations !== true) return;
    const tenants = options.tenant === undefined ? await patterns.tenants() : [options.tenant];
    for (const tenant of tenants)
      for (const observation of await patterns.observations(tenant))
        if (options.tool === undefined || observation.tool === options.tool)
          output.write(`${JSON.stringify({ type: 'observation', ...observation })}\n`);
  });
}

/** `holdfast patterns schedule`. */
export async function scheduleExtraction(
  context: CommandContext,
  { every, ...options }: CommonOptions & { readonly taskQueue?: string; readonly every?: number },
): Promise<void> {
  const environment = readEnvironment(context.variables, context.directory);
  const { taskQueue = environment.taskQueue } = options;
  await withTemporal(environment, async ({ client, server: { address } }) => {
    const made = await schedulePatterns(client, {
      address,
      taskQueue,
      ...defined({ everyMs: every && every * 60_000 }),
    });
    print(context, options, made, `schedule ${scheduleText(made)}`);
  });
}
