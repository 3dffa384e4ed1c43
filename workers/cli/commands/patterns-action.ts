/** The work of `holdfast patterns`. */
import { judged } from '../../../activities/learning/evidence';
import type { Pattern, PatternStatus } from '../../../activities/stores/patterns/pattern-shape';
import type { PatternStore } from '../../../activities/stores/patterns/pattern-store';
import { UserError } from '../../../activities/lifecycle/user-error';
import type { CommonOptions } from '../command-context';
import { print } from '../command-context';
import { schedulePatterns, scheduleText } from '../../../client/pattern-schedule';
import { readEnvironment } from '../../env';
import type { CommandLineContext } from '../command-line-context';
import { openEnvironmentStore } from '../environment-store';
import { patternTable, patternText, shownPattern } from '../display/pattern-text';
import { withTemporal } from '../reach-temporal';

/** Which patterns. */
export interface PatternFilter extends CommonOptions {
  readonly tenant?: string;
  readonly tool?: string;
  readonly status?: PatternStatus;
}

/** How often, and on whose workers. */
export interface ScheduleOptions extends CommonOptions {
  readonly taskQueue?: string;
  /** In minutes. */
  readonly every?: number;
}

async function withPatterns<Result>(
  { variables, directory }: CommandLineContext,
  work: (patterns: PatternStore) => Promise<Result>,
): Promise<Result> {
  const store = await openEnvironmentStore(readEnvironment(variables, directory));
  try {
    return await work(store.patterns);
  } finally {
    await store.close();
  }
}

async function selected(
  patterns: PatternStore,
  { tenant, tool, status }: PatternFilter,
): Promise<readonly Pattern[]> {
  const found = await patterns.patterns({
    ...(tenant === undefined ? {} : { tenant }),
    ...(tool === undefined ? {} : { tool }),
  });
  return found.filter((pattern) => status === undefined || pattern.status === status);
}

/** Errors: `UserError` for an id that the store has not got. */
async function patternOf(patterns: PatternStore, id: string): Promise<Pattern> {
  const pattern = await patterns.pattern(id);
  if (pattern !== undefined) return pattern;
  throw new UserError(
    `There is no pattern "${id.slice(0, 40)}" in this store; see \`holdfast patterns list\`.`,
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
export async function listPatterns(
  context: CommandLineContext,
  options: PatternFilter,
): Promise<void> {
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
  context: CommandLineContext,
  id: string,
  options: CommonOptions,
): Promise<void> {
  const pattern = await withPatterns(context, (patterns) => patternOf(patterns, id));
  const nowMs = Date.now();
  print(context, options, shownPattern(pattern, nowMs), patternText(pattern, nowMs));
}

/** `holdfast patterns disable` and `enable`. */
export async function switchPattern(
  context: CommandLineContext,
  to: 'disable' | 'enable',
  id: string,
  options: CommonOptions,
): Promise<void> {
  const nowMs = Date.now();
  const pattern = await withPatterns(context, async (patterns) => {
    await patternOf(patterns, id);
    return patterns.updatePattern(id, (known) => switched(known, to, nowMs));
  });
  if (pattern === undefined) throw new UserError(`Pattern "${id}" went meanwhile.`);
  const text = `pattern ${pattern.id} is ${pattern.status}`;
  print(context, options, shownPattern(pattern, nowMs), text);
}

/** `holdfast patterns export`. */
export async function exportPatterns(
  context: CommandLineContext,
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
export async function schedulePatternsHere(
  context: CommandLineContext,
  { every, ...options }: ScheduleOptions,
): Promise<void> {
  const environment = readEnvironment(context.variables, context.directory);
  const { taskQueue = environment.taskQueue } = options;
  await withTemporal(environment, async ({ client, server: { address } }) => {
    const made = await schedulePatterns(client, {
      address,
      taskQueue,
      ...(every === undefined ? {} : { everyMs: every * 60_000 }),
    });
    print(context, options, made, `schedule ${scheduleText(made)}`);
  });
}
