/** Takes tools that were written for the Vercel AI SDK (5, 6 and 7) as they are. No package of it is needed: its shapes are read. */
import { z } from 'zod';
import type { JsonObject } from '../../../workflows/core/json';
import { defined } from '../../../workflows/core/json';
import { UserError } from '../../lifecycle/user-error';
import { defineTool } from '../define-tool';
import { checkBy, parametersHint, parseBy } from '../input-problems';
import { hasReferences, inputSchemaFromJson, isJsonObject } from '../input-schema';
import { privilegedFinder } from '../privileged-parameters';
import type { RunContext, Tool, ToolContext, ToolDefinition } from '../tool';
import { ToolError } from '../tool-error';

/** A function of such a tool. Its types are its author's. */
type Fn = (...given: readonly unknown[]) => unknown;

/** What is read of such a tool. */
interface AiSdkTool {
  readonly type?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly contextSchema?: unknown;
  readonly execute?: unknown;
  readonly needsApproval?: unknown;
  readonly toModelOutput?: unknown;
}

/** The settings of one tool; written out at `fromAiSdk`, so that the package needs no name for them. */
export type AiSdkToolSettings = NonNullable<NonNullable<Parameters<typeof fromAiSdk>[1]>[string]>;

const isFn = (value: unknown): value is Fn => typeof value === 'function';

const isZod = (value: unknown): value is z.ZodType =>
  typeof value === 'object' && value !== null && '_zod' in value;

/** What `jsonSchema()` and `zodSchema()` of the AI SDK make. */
interface AiSdkSchema {
  readonly jsonSchema: unknown;
  readonly validate?: unknown;
}

const isAiSdkSchema = (value: unknown): value is AiSdkSchema =>
  typeof value === 'object' && value !== null && 'jsonSchema' in value && 'validate' in value;

/** What such a schema answers. */
interface Validated {
  readonly success: boolean;
  readonly value?: unknown;
  readonly error?: { readonly message?: unknown; readonly issues?: unknown };
}

/** Makes the errors of one tool. */
const refusing =
  (name: string) =>
  (problem: string): UserError =>
    new UserError(`AI SDK tool "${name}" ${problem}`);

type Refuse = ReturnType<typeof refusing>;

function checkKind({ type, execute }: AiSdkTool, refuse: Refuse): void {
  if (type !== undefined && type !== 'function' && type !== 'dynamic')
    throw refuse(
      `has the type ${JSON.stringify(type)}: its definition is the vendor's, which no other vendor takes. Leave it out, or write a tool with an inputSchema of your own.`,
    );
  if (!isFn(execute))
    throw refuse(
      'has no execute, so its caller would have to run it. Give it one, or leave it out; for a question to a person, use ask_user.',
    );
}

function descriptionOf(tool: AiSdkTool, settings: AiSdkToolSettings, refuse: Refuse): string {
  const description: unknown = settings.description ?? tool.description;
  if (typeof description === 'string') return description;
  throw refuse(
    description === undefined
      ? 'has no description; give one in its settings: { description: "…" }.'
      : 'has a description that is not a text; give one in its settings: { description: "…" }.',
  );
}

function contextOf(
  { contextSchema }: AiSdkTool,
  { context }: AiSdkToolSettings,
  refuse: Refuse,
): z.ZodType | undefined {
  const schema = context ?? contextSchema;
  if (schema === undefined || isZod(schema)) return schema;
  throw refuse(
    'has a contextSchema that is no schema of zod 4; give one in its settings: { context: z.object({ … }) }.',
  );
}

/** The options of the AI SDK. The conversation is not among them: a tool call of a run does not load it. */
function optionsFrom({ toolCallId, context }: RunContext & { readonly toolCallId: string }) {
  return { toolCallId, messages: [], context, experimental_context: context };
}

function approvalOf({ needsApproval }: AiSdkTool): Pick<AiSdkToolSettings, 'approval'> {
  if (needsApproval === undefined || needsApproval === false) return {};
  if (!isFn(needsApproval)) return { approval: 'always' };
  // One that answers with a promise always asks: rules are asked while the run decides.
  return {
    approval: (input, context) => needsApproval(input, optionsFrom(context)) !== false,
  };
}

/** The last value of a stream of outputs, or the output. */
async function finalOutput(output: unknown, { signal }: ToolContext): Promise<unknown> {
  const value = await output;
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const each of value as AsyncIterable<unknown>) {
    last = each;
    if (signal.aborted) break;
  }
  return last;
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/** A part of an output with content, as tools give texts, images and files here; one of another type as it is. */
function partFrom(part: unknown): unknown {
  if (!isJsonObject(part)) return part;
  const { type, text: words, data: given, mediaType, filename } = part;
  if (type === 'text') return { type, text: text(words) };
  const data = isJsonObject(given) ? given['data'] : given;
  if (typeof data !== 'string' || typeof mediaType !== 'string') return part;
  return {
    type: mediaType.startsWith('image/') ? 'image' : 'file',
    data: Buffer.from(data, 'base64'),
    mediaType,
    ...(typeof filename === 'string' && { name: filename }),
  };
}

/** What the model reads of the answer of `toModelOutput`. */
function readModelOutput(answer: unknown): unknown {
  const { type, value, reason } = { ...(answer as object | undefined) } as {
    readonly type?: unknown;
    readonly value?: unknown;
    readonly reason?: unknown;
  };
  if (type === 'error-text' || type === 'error-json') throw new ToolError(text(value));
  if (type === 'execution-denied')
    throw new ToolError(text(reason ?? 'denied'), { code: 'tool_denied' });
  if (type !== 'content' || !Array.isArray(value)) return value;
  const parts = value.map(partFrom);
  const texts = parts.flatMap((part) =>
    isJsonObject(part) && part['type'] === 'text' ? [text(part['text'])] : [],
  );
  return texts.length === parts.length ? texts.join('\n') : parts;
}

function modelOutputOf(
  { toModelOutput }: AiSdkTool,
  { sdk }: AiSdkToolSettings,
  refuse: Refuse,
): (output: unknown, input: unknown, context: ToolContext) => unknown {
  if (!isFn(toModelOutput)) return (output) => output;
  if (sdk === undefined)
    throw refuse(
      'has toModelOutput, which AI SDK 5 calls with the output, and later ones with an object that has it; say which in its settings: { sdk: 5 }, 6 or 7.',
    );
  return async (output, input, { toolCallId }) =>
    readModelOutput(await toModelOutput(sdk === 5 ? output : { toolCallId, input, output }));
}

/** How the input of a tool is described and checked. */
interface InputReader {
  /** For `defineTool`; knows the names of a JSON Schema only. */
  readonly schema: z.ZodType;
  /** Replaces what `defineTool` makes of it. */
  readonly instead: Partial<Pick<Tool, 'inputSchema' | 'parse' | 'privilegedIn'>>;
  /** The value that `execute` takes. Errors: `ToolError`. */
  readonly read: (input: unknown) => Promise<unknown>;
}

function problemOf({ error }: Validated): string {
  const issues: readonly unknown[] = Array.isArray(error?.issues) ? error.issues : [];
  const problems = issues.flatMap((issue) => {
    const { path, message } = issue as { readonly path?: unknown; readonly message?: unknown };
    const place = Array.isArray(path) ? path.join('.') : '';
    return typeof message === 'string' ? [place === '' ? message : `${place}: ${message}`] : [];
  });
  return problems.length > 0 ? problems.join('; ') : text(error?.message ?? 'it does not fit');
}

function readByAiSdk(name: string, given: AiSdkSchema, refuse: Refuse): InputReader {
  const { jsonSchema, validate } = given;
  if (!isJsonObject(jsonSchema) || 'then' in jsonSchema)
    throw refuse('has a JSON Schema that is not there yet, or none; give it as an object.');
  const plain = JSON.parse(JSON.stringify(jsonSchema)) as JsonObject;
  const inputSchema = inputSchemaFromJson(plain);
  const properties = isJsonObject(inputSchema['properties']) ? inputSchema['properties'] : {};
  const names = Object.keys(properties).map((each) => [each, z.unknown().optional()] as const);
  const check = checkBy(plain);
  return {
    schema: z.looseObject(Object.fromEntries(names)),
    instead: {
      inputSchema,
      parse: (input) => parseBy(inputSchema, check, input),
      privilegedIn: privilegedFinder(plain, hasReferences),
    },
    read: async (input) => {
      if (!isFn(validate)) return input;
      const validated = (await validate(input)) as Validated;
      if (validated.success) return validated.value;
      throw new ToolError(`${name}: ${problemOf(validated)}`, {
        code: 'invalid_params',
        ...defined({ hint: parametersHint(inputSchema) }),
      });
    },
  };
}

function inputOf(name: string, { inputSchema }: AiSdkTool, refuse: Refuse): InputReader {
  // Version 6 takes a function that makes the schema, too.
  const given = isFn(inputSchema) ? inputSchema() : inputSchema;
  if (isZod(given)) return { schema: given, instead: {}, read: (input) => Promise.resolve(input) };
  if (isAiSdkSchema(given)) return readByAiSdk(name, given, refuse);
  throw refuse(
    'has an inputSchema that is neither a schema of zod 4 nor made by jsonSchema() or zodSchema() of the AI SDK; wrap it in one of them.',
  );
}

function toolFrom<Name extends string>(
  name: Name,
  tool: AiSdkTool,
  settings: AiSdkToolSettings,
): Tool<unknown, Name> {
  const refuse = refusing(name);
  checkKind(tool, refuse);
  const { schema, instead, read } = inputOf(name, tool, refuse);
  const { sdk: _sdk, ...definition } = settings;
  const outputOf = modelOutputOf(tool, settings, refuse);
  const made = defineTool({
    ...approvalOf(tool),
    ...definition,
    name,
    description: descriptionOf(tool, settings, refuse),
    ...defined({ context: contextOf(tool, settings, refuse) }),
    input: schema,
    execute: async (given, context) => {
      const input = await read(given);
      const options = { ...optionsFrom(context), abortSignal: context.signal };
      const output = await finalOutput((tool.execute as Fn)(input, options), context);
      return outputOf(output, input, context);
    },
  });
  return { ...made, ...instead };
}

/**
 * Takes tools of the Vercel AI SDK, by name as it has them, as tools of an agent: `tools: fromAiSdk({ weather })`.
 *
 * Contract: each is `irreversible` unless its settings say otherwise. `execute` gets `toolCallId`, `abortSignal` and, with a `context`
 * schema, the run's context as `context` and `experimental_context`; `messages` is empty. Of a stream of outputs the last counts.
 * `needsApproval` asks a person, unless the settings have an `approval`. `onInput…` is not called.
 * Errors: `UserError` that names the tool, the value and the remedy.
 */
export function fromAiSdk<const Tools extends Readonly<Record<string, object>>>(
  tools: Tools,
  settings: {
    /** What the runtime must know of a tool beside what the AI SDK knows, as in `defineTool`. */
    readonly [Name in keyof Tools]?: Partial<Omit<ToolDefinition, 'name' | 'input' | 'execute'>> & {
      /** Major version of `ai` that a tool with `toModelOutput` was written for: 5 calls that in another way. */
      readonly sdk?: 5 | 6 | 7;
    };
  } = {},
): readonly Tool<unknown, keyof Tools & string>[] {
  if (Array.isArray(tools) || typeof tools !== 'object' || (tools as object | null) === null)
    throw new UserError(
      `fromAiSdk got ${Array.isArray(tools) ? 'an array' : typeof tools}; give an object whose keys are the tools' names.`,
    );
  const names = Object.keys(tools);
  for (const name of Object.keys(settings))
    if (!names.includes(name))
      throw new UserError(
        `fromAiSdk has settings for "${name}", but no such tool; it has ${names.join(', ') || 'none'}.`,
      );
  return (names as (keyof Tools & string)[]).map((name) =>
    toolFrom(name, { ...tools[name] }, settings[name] ?? {}),
  );
}
