/** `holdfast patterns`: what runs have learned, and what people decide about it. */
import type { Pattern } from '../../../activities/stores/patterns/pattern-shape';
import { UserError } from '../../../activities/lifecycle/user-error';
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';
import type { PatternStore } from '../../../activities/stores/patterns/pattern-store';
import { withStore } from '../environment-store';
import { patternTable, patternText, shownPattern } from '../display/pattern-text';
import { printableJson } from '../display/printable';
import type { PatternSwitch } from '../switch-pattern';
import { switchPattern } from '../switch-pattern';

type OnePattern = (context: CommandContext, id: string, options: CommonOptions) => Promise<void>;

/** Works on the patterns at a time of the store's own clock, by which their evidence ages. */
function withPatterns<Result>(
  context: CommandContext,
  work: (patterns: PatternStore, nowMs: number) => Promise<Result>,
): Promise<Result> {
  return withStore(context, async (store) => work(store.patterns, await store.now()));
}

/** Errors: `UserError` for a pattern that is not in the store. */
function known(pattern: Pattern | undefined, id: string): Pattern {
  if (pattern !== undefined) return pattern;
  throw new UserError(
    `Pattern "${id.slice(0, 40)}" is not in this store. \`holdfast patterns list\` shows the patterns.`,
  );
}

/** `holdfast patterns list`. */
export async function listPatterns(
  context: CommandContext,
  { json, tenant }: CommonOptions & { readonly tenant?: string },
): Promise<void> {
  const { output } = context;
  const { found, nowMs } = await withPatterns(context, async (patterns, nowMs) => {
    return { found: await patterns.patterns(tenant), nowMs };
  });
  if (json === true)
    for (const pattern of found) output.write(`${printableJson(shownPattern(pattern, nowMs))}\n`);
  else if (found.length === 0) output.note('No patterns.');
  else output.write(`${patternTable(found, output.columns(), nowMs).join('\n')}\n`);
}

/** `holdfast patterns export`. */
export async function exportPatterns(
  context: CommandContext,
  { tenant, observations = false }: { readonly tenant?: string; readonly observations?: boolean },
): Promise<void> {
  const write = (type: string, exported: object): void => {
    context.output.write(`${printableJson({ type, ...exported })}\n`);
  };
  await withPatterns(context, async (patterns, nowMs) => {
    for (const pattern of await patterns.patterns(tenant))
      write('pattern', shownPattern(pattern, nowMs));
    if (!observations) return;
    for (const each of tenant === undefined ? await patterns.tenants() : [tenant])
      for (const observation of await patterns.observations(each))
        write('observation', observation);
  });
}

/** `holdfast patterns show`. */
export const showPattern: OnePattern = async (context, id, options) => {
  const { found, nowMs } = await withPatterns(context, async (patterns, nowMs) => {
    return { found: await patterns.pattern(id), nowMs };
  });
  const pattern = known(found, id);
  print(context, options, shownPattern(pattern, nowMs), patternText(pattern, nowMs));
};

function switching(how: PatternSwitch): OnePattern {
  return async (context, id, options) => {
    const { pattern: found, nowMs } = await withStore(context, (store) =>
      switchPattern(store, id, how),
    );
    const pattern = known(found, id);
    const text = `pattern ${pattern.id} is ${pattern.status}`;
    print(context, options, shownPattern(pattern, nowMs), text);
  };
}

/** `holdfast patterns disable`: holds until `enable`. */
export const disablePattern = switching('disable');

/** `holdfast patterns enable`: the pattern's evidence decides again. */
export const enablePattern = switching('enable');
