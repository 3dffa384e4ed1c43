/** Makes a tool from its author's definition, and refuses what could not work. */
import type { z } from 'zod';
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import { UserError } from '../lifecycle/user-error';
import { checkToolShape } from '../definitions/checks/check-definition';
import { checkDecisionPolicy } from './check-decision-policy';
import { defaultCallCaps } from './default-call-caps';
import { editedFileField } from './edits-file';
import type { InputCheck, InputProblem, ParsedInput } from './input-problems';
import { inputCheck, parametersHint, pathText, problemTexts } from './input-problems';
import { inputSchemaFromZod, isJsonObject, plainSchemaFromZod } from './input-schema';
import type { TargetPlace } from './existing-code/temporal-target';
import { temporalTool } from './existing-code/temporal-target';
import { privilegedFinder } from './privileged-parameters';
import type {
  ApprovalContext,
  RunContext,
  TemporalTarget,
  Tool,
  ToolContext,
  ToolDefinition,
} from './tool';
import type { ContextReader } from './tool-run-context';
import { contextReader } from './tool-run-context';

/** Names that every vendor accepts. */
const toolName = /^[a-zA-Z0-9_-]{1,64}$/;

/** Characters of a description; OpenAI answers 400 above it (`string_above_max_length`). */
export const maxDescriptionChars = 1_024;

/** Default time limit of one execution in milliseconds (ADR 0007). */
const defaultTimeoutMs = 60_000;
/** Longest time limit in milliseconds: a day, as for waiting on providers. */
export const maxTimeoutMs = 86_400_000;

/**
 * Refuses a name that a vendor would refuse.
 *
 * Errors: `UserError`.
 */
export function checkToolName(name: string): void {
  if (!toolName.test(name)) {
    throw new UserError(
      `Tool name ${JSON.stringify(name)} is not accepted by the model vendors; ` +
        'use 1 to 64 of the characters a-z, A-Z, 0-9, "_" and "-".',
    );
  }
}

/** Names of a tool's inputs. */
export function inputNamesOf(schema: JsonObject): readonly string[] {
  const properties = schema['properties'];
  return isJsonObject(properties) ? Object.keys(properties) : [];
}

const isWhole = (value: number, max: number): boolean =>
  Number.isInteger(value) && value >= 1 && value <= max;

/** What is checked beside the schemas. */
type CheckedParts = Omit<ToolDefinition, 'approval' | 'context' | 'execute' | 'hint' | 'probe'> & {
  readonly execute: unknown;
  readonly probe?: unknown;
};

/** What may be wrong with a definition beside its schema, each with the end of a sentence that begins with the tool. */
function faultsOf(definition: CheckedParts): readonly (readonly [boolean, string])[] {
  const { description, effect = 'irreversible', execute, probe, onUnknown, quick } = definition;
  const { timeoutMs = defaultTimeoutMs, maxCalls = 1 } = definition;
  const { length } = description;
  return [
    [
      description.trim() === '',
      ' has no description; say in one or two sentences what it does and when to use it.',
    ],
    [
      length > maxDescriptionChars,
      ` has a description of ${length} characters; OpenAI takes ${maxDescriptionChars}. Move the details into the parameters' descriptions or the agent's instructions.`,
    ],
    [
      !isWhole(timeoutMs, maxTimeoutMs),
      `: timeoutMs is ${timeoutMs}; give a whole number from 1 to ${maxTimeoutMs}.`,
    ],
    [
      !isWhole(maxCalls, Number.MAX_SAFE_INTEGER),
      `: maxCalls is ${maxCalls}; give a whole number from 1.`,
    ],
    [
      effect === 'reconcilable' && probe === undefined,
      ' is "reconcilable" but has no probe; add probe(key, input, context), or choose another effect.',
    ],
    [
      effect !== 'reconcilable' && probe !== undefined,
      ` has a probe, which is used only with effect "reconcilable"; its effect is "${effect}".`,
    ],
    [
      effect === 'read' && onUnknown === 'ask-person',
      ' is "read", so its outcome is never unknown; leave onUnknown out, or choose another effect.',
    ],
    [
      quick === true && effect !== 'read',
      ` is quick with effect "${effect}"; leave quick out, or say effect: 'read' if a repeated call changes nothing.`,
    ],
    [
      quick === true && typeof execute !== 'function',
      ' is quick, but its work is Temporal code, which takes tasks of its own; leave quick out.',
    ],
  ];
}

function checkDefinition(definition: CheckedParts, inputNames: readonly string[]): void {
  const { name, editsFile, label, cosmetic = [] } = definition;
  const fault = faultsOf(definition).find(([isWrong]) => isWrong)?.[1];
  if (fault !== undefined) throw new UserError(`Tool "${name}"${fault}`);
  const labels = cosmetic.map((property) => ['cosmetic', property] as const);
  const named = [['editsFile', editsFile], ['label', label], ...labels] as const;
  for (const [option, property] of named)
    if (property !== undefined && !inputNames.includes(property))
      throw new UserError(
        `Tool "${name}": ${option} names the input property "${property}", which its schema does not have; it has ${inputNames.join(', ') || 'none'}.`,
      );
}

function parseWith(
  schema: z.ZodType,
  inputSchema: JsonObject,
  check: InputCheck,
  input: unknown,
): ParsedInput {
  const structural = check(input).filter(({ kind }) => kind !== 'rule');
  const parsed = schema.safeParse(input);
  // Zod decides about values (it may coerce), but drops unknown parameters silently.
  if (parsed.success && !structural.some(({ kind }) => kind === 'unknown')) {
    return { ok: true, value: parsed.data };
  }
  const byZod = (parsed.error?.issues ?? []).map((issue): InputProblem => {
    const path = pathText(issue.path);
    return {
      kind: 'value',
      path,
      text: path === '' ? issue.message : `Parameter ${path}: ${issue.message}`,
    };
  });
  return {
    ok: false,
    problems: problemTexts(structural, byZod),
    hint: parametersHint(inputSchema),
  };
}

/** An approval rule that throws, or returns anything but false, asks a person. */
export function askWhere(
  rule: (input: unknown, context: ApprovalContext) => unknown,
): Tool['needsApproval'] {
  return (input, context) => {
    try {
      return rule(input, context) !== false;
    } catch {
      return true;
    }
  };
}

function hintFrom(
  hint:
    string | ((error: unknown, input: unknown, run: RunContext) => string | undefined) | undefined,
  { own }: ContextReader,
): Tool['hintFor'] {
  if (typeof hint !== 'function') {
    return () => hint;
  }
  return (error, input, run) => {
    try {
      return hint(error, input, own(run));
    } catch {
      return undefined;
    }
  };
}

/** What does a tool's work: its author's function, or Temporal code. */
function workOf<Input, Context>(
  place: TargetPlace,
  definition: {
    readonly execute:
      ((input: Input, context: ToolContext<Context>) => unknown) | TemporalTarget<Input, Context>;
  },
): {
  readonly execute: (input: Input, context: ToolContext<Context>) => unknown;
  readonly readEnd?: Tool['readEnd'];
} {
  const { execute } = definition;
  if (typeof execute === 'function') return { execute: execute.bind(definition) };
  // Its functions get what the contract of `defineTool` says, as `execute` does.
  return temporalTool(place, execute as TemporalTarget);
}

/**
 * Makes a tool of a definition: fills in defaults, converts the schema, checks all of it.
 *
 * Contract: `execute`, `probe` and `needsApproval` of the result take what its `parse` returned, nothing else.
 * Errors: `UserError` that names the tool, the value and the remedy.
 */
export function defineTool<
  Input extends z.ZodType,
  const Name extends string = string,
  Context extends z.ZodType = z.ZodUndefined,
>(
  definition: ToolDefinition<Input, Context, Name>,
): Tool<Context extends z.ZodUndefined ? unknown : z.input<Context>, Name> {
  checkToolShape(definition);
  const { name, description, effect = 'irreversible', approval = 'never', probe } = definition;
  checkToolName(name);
  const inputSchema = inputSchemaFromZod(name, definition.input);
  const inputNames = inputNamesOf(inputSchema);
  checkDefinition(definition, inputNames);
  const check = inputCheck(inputSchema);
  // The contract above makes these casts true: only this schema's own output comes back.
  const own = (input: unknown): z.output<Input> => input as z.output<Input>;
  const reader = contextReader(name, definition.context);
  type Read<Run> = Omit<Run, 'context'> & { readonly context: z.output<Context> };
  const ownRun = <Run extends RunContext>(run: Run): Read<Run> => reader.own(run) as Read<Run>;
  const isRule = typeof approval === 'function';
  const timeoutMs = definition.timeoutMs ?? defaultTimeoutMs;
  const { execute, readEnd } = workOf({ name, effect, timeoutMs }, definition);
  return {
    name,
    description,
    inputSchema,
    effect,
    timeoutMs,
    approval: isRule ? 'rule' : approval,
    approvals:
      definition.approvals === undefined
        ? undefined
        : checkDecisionPolicy(`Tool "${name}": approvals`, definition.approvals),
    ...defined({ runsPrograms: definition.runsPrograms, quick: definition.quick }),
    editsFile: definition.editsFile ?? editedFileField(name, effect, inputNames),
    cosmetic: definition.cosmetic ?? [],
    maxCalls: definition.maxCalls ?? defaultCallCaps.get(name),
    onUnknown: definition.onUnknown ?? 'tell-model',
    label: definition.label,
    hidesPaths: definition.paths === 'hide',
    parse: (input) => parseWith(definition.input, inputSchema, check, input),
    ...defined({ contextProblem: reader.problem }),
    needsApproval: isRule
      ? askWhere((input, context) => approval(own(input), ownRun(context)))
      : () => approval === 'always',
    privilegedIn: privilegedFinder(plainSchemaFromZod(name, definition.input)),
    hintFor: hintFrom(definition.hint as Parameters<typeof hintFrom>[0], reader),
    execute: (input, context) => execute(own(input), ownRun(context)),
    ...defined({ readEnd }),
    probe: probe && ((key, input, context) => probe(key, own(input), ownRun(context))),
  };
}
