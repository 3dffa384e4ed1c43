/** `holdfast patterns`: what runs have learned, and what people decide about it. */
import { judged } from '../../../activities/learning/evidence';
import type { Pattern } from '../../../activities/stores/patterns/pattern-shape';
import { UserError } from '../../../activities/lifecycle/user-error';
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';
import { withStore } from '../environment-store';
import { patternTable, patternText, shownPattern } from '../display/pattern-text';
import { printableJson } from '../display/printable';

type OnePattern = (context: CommandContext, id: string, options: CommonOptions) => Promise<void>;

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
  const found = await withStore(context, ({ patterns }) => patterns.patterns(tenant));
  const nowMs = Date.now();
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
  const nowMs = Date.now();
  await withStore(context, async ({ patterns }) => {
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
  const found = await withStore(context, ({ patterns }) => patterns.pattern(id));
  const nowMs = Date.now();
  const pattern = known(found, id);
  print(context, options, shownPattern(pattern, nowMs), patternText(pattern, nowMs));
};

function switching(change: (pattern: Pattern, nowMs: number) => Pattern): OnePattern {
  return async (context, id, options) => {
    const nowMs = Date.now();
    const changed = await withStore(context, ({ patterns }) =>
      patterns.updatePattern(id, (pattern) => pattern && change(pattern, nowMs)),
    );
    const pattern = known(changed, id);
    const text = `pattern ${pattern.id} is ${pattern.status}`;
    print(context, options, shownPattern(pattern, nowMs), text);
  };
}

/** `holdfast patterns disable`: holds until `enable`. */
export const disablePattern = switching((pattern, statusAtMs) => ({
  ...pattern,
  status: 'disabled',
  statusAtMs,
}));

/** `holdfast patterns enable`: the pattern's evidence decides again. */
export const enablePattern = switching((pattern, nowMs) =>
  pattern.status === 'active'
    ? pattern
    : judged({ ...pattern, status: 'candidate', statusAtMs: nowMs, lastUses: [] }, nowMs),
);
