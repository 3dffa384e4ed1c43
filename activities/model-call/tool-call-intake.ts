/** Turns the raw tool calls of a reply into calls that can run, or into errors that the model can correct. */
import { setImmediate as turn } from 'node:timers/promises';
import { toolCallIdOf } from '../../workflows/core/tools/lineage';
import type { AgentError } from '../../workflows/core/failure';
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import { answerBytes, inlineInputBytes, maxCallsPerReply } from '../../workflows/core/limits';
import type { ToolCallBlock } from '../../workflows/core/message';
import type { ProposedToolCall } from '../../workflows/core/tools/ports';
import { completeTaskTool, readOutputTool } from '../../workflows/core/tools/ports';
import type { ResolvedAgent } from '../definitions/agent-catalog';
import { actionDigest, callIdentity } from '../identity/call-identity';
import type { RawToolCall } from '../providers/provider';
import { withoutSecrets } from '../untrusted/known-secrets';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { shownArgumentsChars } from '../../workflows/core/secrets/shown-arguments';
import { agentError } from '../untrusted/agent-error';
import { argumentsForPeople } from '../untrusted/arguments-for-people';
import { sanitizeText, withoutSecretsInPieces } from '../untrusted/sanitizer';
import type { Store } from '../stores/store';
import { canonicalJson } from '../stores/content-hash';
import { hasResult } from '../tools/built-in-tools';
import { editedFileOf } from '../tools/edits-file';
import { isJsonObject } from '../tools/input-schema';
import { onlyNearestName } from '../tools/nearest-name';
import type { ToolsOfRun } from '../tool-call/tool-of-run';
import { refHint } from '../tool-output/stored-outputs';
import { refusedInputHint, runContextOf, toolOfRun } from '../tool-call/tool-of-run';
import type { ApprovalContext, Tool } from '../tools/tool';
import { withoutNullsOf } from './formed-answer';

/** Longest name of an unknown tool that the transcript keeps, as every vendor accepts it. */
const wireNameChars = 64;

/** Bytes of JSON up to which `ask_user`, and `complete_task` beside other calls, carry their input inline (ADR 0003). */
const coreInputBytes = 64 * 1024;

/** Bytes of input that all calls of one reply together carry inline; the others travel by reference (ADR 0003). */
const replyInlineBytes = 64 * 1024;

/** Characters that the errors of one reply share, so that many of them stay far below what a payload may have (ADR 0003). */
const replyErrorChars = 10_000;

/** Characters of the arguments that people may be asked about in one reply, shared by its calls (ADR 0041). */
const replyShownChars = 40_000;

/** A call as the core gets it, and as the transcript keeps it. */
export interface TakenCall {
  readonly proposed: ProposedToolCall;
  readonly block: ToolCallBlock;
}

/** Characters of a refused call in the model's own words, as a note quotes them. */
const saidChars = 200;

/** Levels of JSON that a transcript needs around the input of a call, with some to spare. */
const messageDepth = 32;

/** Why the store cannot hold an input, in words; undefined if it can. Not every JSON that parses can be stored. */
export function carriageProblem(input: JsonObject): string | undefined {
  try {
    canonicalJson(input, messageDepth);
    return undefined;
  } catch (thrown) {
    return reasonOf(thrown);
  }
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : 'not JSON';
}

/**
 * The input of a call, or in words why there is none. Strict: anything but one JSON object is an error, never repaired. For a
 * call without input, vendors send an empty text or `null`.
 */
function parseArguments(text: string): JsonObject | string {
  let value: unknown;
  try {
    value = text.trim() === '' ? null : JSON.parse(text);
  } catch (thrown) {
    return `The arguments are not valid JSON: ${reasonOf(thrown)}`;
  }
  if (value === null) return {};
  if (!isJsonObject(value))
    return `The arguments must be one JSON object, got ${Array.isArray(value) ? 'an array' : typeof value}.`;
  const problem = carriageProblem(value);
  return problem === undefined ? value : `The arguments cannot be used: ${problem}`;
}

/** Hint for a call to a tool that the request did not offer: why, or the tool that was probably meant. */
function noToolHint({ config }: ToolsOfRun, name: string): string | undefined {
  if (name === readOutputTool)
    return 'No output was shortened, so there is nothing to read on: the results above are whole.';
  const meant = onlyNearestName(
    name,
    config.tools.map((tool) => tool.name),
  );
  return meant === undefined ? undefined : `Perhaps you mean ${meant}.`;
}

/** A reply's call and its place among the others. */
interface PlacedCall {
  readonly raw: RawToolCall;
  readonly index: number;
  /** Calls that the reply asks for. */
  readonly total: number;
  /** A person may be asked about any call. */
  readonly isAsked: boolean;
}

interface CheckedCall {
  readonly tool?: Tool;
  readonly input: JsonObject;
  readonly error?: AgentError;
  readonly needsApproval?: boolean;
}

function checkCall(
  definition: ToolsOfRun,
  { raw, index, total }: PlacedCall,
  context: ApprovalContext,
): CheckedCall {
  const { name } = raw;
  const isNamed = name.trim() !== '';
  const toolName = isNamed ? name.slice(0, wireNameChars) : undefined;
  const error = (code: AgentError['code'], message: string, hint?: string): AgentError =>
    agentError(code, message, { hint, toolName });
  if (!isNamed)
    return { input: {}, error: error('missing_tool_name', 'The tool call names no tool.') };
  const input = parseArguments(raw.argumentsText);
  if (typeof input === 'string') return { input: {}, error: error('invalid_json', input) };
  const tool = toolOfRun(definition, name);
  if (tool === undefined) {
    const hint = noToolHint(definition, name);
    return { input, error: error('invalid_tool', `There is no tool called "${name}".`, hint) };
  }
  if (index >= maxCallsPerReply) {
    const message = `The reply asks for ${total} tool calls; only the first ${maxCallsPerReply} were taken, the others were not run.`;
    return { tool, input, error: error('invalid_params', message) };
  }
  const toRead = name === readOutputTool ? refHint(definition.outputs, input['ref']) : undefined;
  if (toRead !== undefined) {
    const message = 'The input names no stored output of this conversation.';
    return { tool, input, error: error('invalid_params', message, toRead) };
  }
  return checkedInput(
    definition,
    tool,
    hasResult(tool) ? withoutNullsOf(tool, input) : input,
    context,
  );
}

function checkedInput(
  definition: ToolsOfRun,
  tool: Tool,
  input: JsonObject,
  context: ApprovalContext,
): CheckedCall {
  const checked = tool.parse(input);
  if (checked.ok) return { tool, input, needsApproval: tool.needsApproval(checked.value, context) };
  const hint = refusedInputHint(definition, tool, checked.hint);
  const error = agentError('invalid_params', checked.problems.join('; '), {
    hint,
    toolName: tool.name,
  });
  return { tool, input, error };
}

/** A name that every wire accepts, for a call to a tool that does not exist. */
function wireName(name: string): string {
  const safe = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, wireNameChars);
  return safe === '' ? 'unnamed_tool' : safe;
}

function objectOf(json: string, revive?: (key: string, part: unknown) => unknown): JsonObject {
  const value: unknown = JSON.parse(json, revive);
  return isJsonObject(value) ? value : {};
}

/** The JSON without secrets that are recognized only by their name; unchanged if that would break it. */
async function withoutNamedSecrets(json: string): Promise<string> {
  const redacted = await withoutSecretsInPieces(json);
  try {
    JSON.parse(redacted);
    return redacted;
  } catch {
    return json;
  }
}

/** Whether a text holds a secret, also one that hidden characters part. */
function holdsSecret(text: string): boolean {
  const visible = stripHidden(text);
  if (withoutSecrets(visible) !== visible) return true;
  return visible !== text && withoutSecrets(text) !== text;
}

/** Characters that are cleaned without a break for other work of the process: some 20 ms. */
const sliceChars = 16 * 1024;

/** Input as people and callers see it: without secrets and hidden characters. Contract: yields to the event loop. */
export async function redactedInput(json: string): Promise<JsonObject> {
  const texts: string[] = [];
  const value = objectOf(await withoutNamedSecrets(json), (_key, part) => {
    if (typeof part === 'string') texts.push(part);
    return part;
  });
  const clean = new Map<string, string>();
  let chars = 0;
  for (const text of texts) {
    if (clean.has(text)) continue;
    clean.set(text, withoutSecrets(stripHidden(text)));
    // Each text costs as much as some hundred characters, however short it is.
    chars += text.length + 500;
    if (chars > sliceChars) await turn();
    chars %= sliceChars;
  }
  return objectOf(JSON.stringify(value), (_key, part) =>
    typeof part === 'string' ? (clean.get(part) ?? part) : part,
  );
}

/**
 * How a call's input travels: inline if it is short and has no secret, else by reference, so that the tool gets it whole and
 * history never holds it. What the core answers itself stays inline, as the core cannot read references.
 */
async function carried(
  store: Pick<Store, 'putBlob'>,
  { coreTools }: ResolvedAgent,
  { raw: { name }, total }: PlacedCall,
  json: string,
  roomBytes: number,
): Promise<Pick<ProposedToolCall, 'input' | 'inputBlob'>> {
  const isCore = coreTools.some((tool) => tool.name === name);
  // Alone, it ends the run: its input is the result.
  const inlineBytes =
    total === 1 && name === completeTaskTool
      ? answerBytes
      : Math.min(isCore ? coreInputBytes : inlineInputBytes, roomBytes);
  const isShort = Buffer.byteLength(json) <= inlineBytes;
  if (!isShort || (!isCore && holdsSecret(json))) return { inputBlob: await store.putBlob(json) };
  return { input: isCore ? await redactedInput(json) : objectOf(json) };
}

/** Bounds an error so that all errors of a reply fit. */
function shortened(error: AgentError, total: number): AgentError {
  const chars = Math.floor(replyErrorChars / Math.min(total, maxCallsPerReply));
  const short = (text: string): string =>
    text.length <= chars ? text : sanitizeText(text, { maxChars: chars });
  const hint = error.hint === undefined ? undefined : short(error.hint);
  return { ...error, message: short(error.message), ...defined({ hint }) };
}

/** Stores the input of a refused call, so that learning can compare it with the call that works. */
async function storedForLearning(
  store: Pick<Store, 'putBlob'>,
  { learns }: ResolvedAgent,
  json: string,
): Promise<Pick<ProposedToolCall, 'inputBlob'>> {
  return learns && json !== '{}' ? { inputBlob: await store.putBlob(json) } : {};
}

/** The input as whoever decides about the call sees it: first what is privileged, then what the tool declares. */
function shownInput(
  { inputSchema }: Tool,
  input: JsonObject,
  privileged: ProposedToolCall['privileged'],
  total: number,
): ProposedToolCall['shown'] {
  const properties = inputSchema['properties'];
  const declared = isJsonObject(properties) ? Object.keys(properties) : [];
  const marked = privileged?.parameters.map(({ name }) => name.split(/[.[]/)[0] ?? name) ?? [];
  const room = Math.floor(replyShownChars / Math.min(total, maxCallsPerReply));
  return argumentsForPeople(input, {
    first: [...marked, ...declared],
    maxChars: Math.min(room, shownArgumentsChars),
  });
}

async function takeCall(
  store: Pick<Store, 'putBlob'>,
  definition: ToolsOfRun,
  placed: PlacedCall,
  context: ApprovalContext,
  inlineRoomBytes: number,
): Promise<TakenCall> {
  const { raw, total, isAsked } = placed;
  const { toolCallId } = context;
  const { tool, input, error, needsApproval } = checkCall(definition, placed, context);
  const { agent } = definition;
  const json = canonicalJson(input);
  const name = tool?.name ?? wireName(raw.name);
  const call = { toolCallId, name, input };
  const { privileged, ...identity } = callIdentity(tool, call);
  const mayAsk = isAsked || needsApproval === true || privileged !== undefined;
  const shown =
    tool !== undefined && mayAsk ? shownInput(tool, input, privileged, total) : undefined;
  const use =
    error === undefined
      ? {
          ...defined({ privileged, shown }),
          ...(await editedFileOf(tool, input, context.workspace)),
          ...(await carried(store, agent, placed, json, inlineRoomBytes)),
          ...(needsApproval === true ? { approvalDigest: actionDigest(call, tool) } : {}),
        }
      : {
          ...(await storedForLearning(store, agent, json)),
          error: shortened(error, total),
          said: sanitizeText(`${raw.name} ${raw.argumentsText}`, {
            maxChars: saidChars,
            asGiven: true,
          }),
        };
  const proposed: ProposedToolCall = { toolCallId, name, ...identity, ...use };
  return { proposed, block: { type: 'tool-call', ...call } };
}

/**
 * Checks every call of a reply and mints its id.
 *
 * Contract: ids are `<idPrefix>_<iteration>_<index>`, the same for a repeat of the same iteration. The report of all calls
 * together is bounded: beyond `maxCallsPerReply` the first one represents the others. The run's snapshot decides which tools
 * there are.
 * Errors: `worker_mismatch` if this worker lacks one of the tools; that is not an error of the model.
 */
export async function takeToolCalls(
  store: Pick<Store, 'putBlob'>,
  definition: ToolsOfRun,
  calls: readonly RawToolCall[],
  ids: { readonly idPrefix: string; readonly iteration: number; readonly isAsked?: boolean },
): Promise<readonly TakenCall[]> {
  const run = runContextOf(definition);
  const taken: TakenCall[] = [];
  let roomBytes = replyInlineBytes;
  for (const [index, raw] of calls.slice(0, maxCallsPerReply + 1).entries()) {
    const context: ApprovalContext = {
      tool: raw.name,
      toolCallId: toolCallIdOf(ids, index),
      ...run,
      iteration: ids.iteration,
    };
    const placed = { raw, index, total: calls.length, isAsked: ids.isAsked === true };
    const call = await takeCall(store, definition, placed, context, roomBytes);
    const { input } = call.proposed;
    if (input !== undefined) roomBytes -= Buffer.byteLength(canonicalJson(input));
    taken.push(call);
  }
  return taken;
}
