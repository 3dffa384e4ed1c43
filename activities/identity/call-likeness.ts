/** Identities of a tool call: what is left of it without the parts in which calls that repeat each other differ. */
import { shortHash } from '../../workflows/core/errors/fingerprint';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import type { CallLikeness, ProposedToolCall } from '../../workflows/core/tools/ports';
import { canonicalJson } from '../stores/content-hash';
import { fileField } from '../tools/edits-file';
import { isJsonObject } from '../tools/input-schema';
import type { Tool } from '../tools/tool';

/** Inputs that make a command: what stands beside one is a label. */
const commandNames = /^(command|cmd|code|script|sql|statement|shell_command)$/;
/** Inputs that say what a read tool looks for. */
const questionNames = /^(query|q|pattern|regex|expression|url|uri|path|file|file_path|filename)$/;
/** Inputs that say where or to whom: never a label. */
const targetNames =
  /(^|_)(id|ids|key|name|cwd|dir|directory|folder|path|paths|file|files|package|workspace|project|repo|repository|env|environment|host|branch|ref|user|account|region|table|collection|index|method|type|kind|format|language|glob|include|exclude)$/;

/** Words for people or about the model's reasons; they decide nothing. */
const reasonNames =
  /^(reason|reasoning|rationale|explanation|purpose|thoughts?|thinking|why|intent|justification|narration|tool_call_description|action_description|user_intent)$/;
/** Words that are a label beside a command, and content elsewhere. */
const labelNames =
  /^(title|label|description|caption|summary|note|notes|comment|message|step|task|goal|display_name|status_message)$/;
/** Of them, those that may be mere captions of a write; the others are what it writes. */
const captionNames = /^(title|label|caption|display_name|status_message|step)$/;
/** Values that mean nothing whatever the call does. */
const emptyNames = /^(idempotency_?key|nonce|cache_?buster|cb)$/;
/** Values that differ in every request and mean nothing beside a command or in a read; in a write they may be its content. */
const nonceNames =
  /^((request|call|tool_call|trace|span|correlation|invocation)_?id|idempotency_?key|nonce|uuid|guid|timestamp|time_?stamp|ts|now|current_time|attempt|attempts|retry|retries|retry_count|try|iteration|counter|seq|sequence|cache_?buster|cb)$/;
/** Numbers that move or resize a window over the same thing. */
const windowNames =
  /^(offset|limit|skip|take|page|page_?size|page_?number|per_?page|page_?token|cursor|start|end|start_?line|end_?line|line_?(start|end|number|count)|from_?line|to_?line|lines?|num_?lines|n_?lines|max_?(lines|results|chars|bytes|count|depth|items|tokens)|head_?limit|view_?range|range|context|context_?lines|before|after|depth|timeout(_?ms)?|length|count|size|top_?k|k|n|num|num_?results|first|last|head|tail)$/;
/** Milliseconds or seconds to wait before the call does its work. */
const waitNames =
  /^(wait|wait_?(ms|s|secs?|seconds|time|for)|sleep(_?(ms|s|secs?|seconds))?|delay(_?(ms|s|secs?|seconds))?|yield_?time_?ms|poll_?interval(_?ms)?)$/;
const waitTools = /(^|[_-])(wait|sleep|delay|pause|idle)([_-]|$)/i;

/** `filePath` and `File-Path` as `file_path`. */
function plainName(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[-\s]/g, '_')
    .toLowerCase();
}

const pause = String.raw`(?:sleep|Start-Sleep(?: -Seconds)?)\s+[1-9][\d.]*[smh]?`;
const onlyPause = new RegExp(String.raw`^\s*${pause}\s*;?\s*$`, 'i');
const pauseFirst = new RegExp(String.raw`(?:^|[;&|]|\bdo)\s*${pause}\b`, 'i');
/** A command that only says something, to nobody. */
const onlyEcho = /^\s*(?:echo|printf|:|true)\b[^|;&<>$`]*$/;
/** Parts of a command that move a window: `sed -n 1,40p`, `head -n 40`, `tail -40`. */
const windowWords =
  /(?<=\bsed\s+(?:-n|-ne)\s+['"]?)\d+(?:,\d+)?(?=p)|(?<=\b(?:head|tail)\s+-(?:n\s*|c\s*)?\+?)\d+/g;

function commandOf(input: JsonObject): string | undefined {
  const found = Object.entries(input).find(([name]) => commandNames.test(plainName(name)));
  if (typeof found?.[1] === 'string') return found[1];
  return Array.isArray(found?.[1]) ? found[1].map(String).join(' ') : undefined;
}

/** Whether the call runs a command, whose output may be about anything. */
export function isCommand(input: JsonObject): boolean {
  return commandOf(input) !== undefined;
}

/** Whether a command only says something: it can be varied without end and never brings anything new. */
export function isOnlyEcho(input: JsonObject): boolean {
  const command = commandOf(input);
  return command !== undefined && onlyEcho.test(command);
}

function plainCommand(command: string): string {
  const plain = command.replace(new RegExp(pause, 'gi'), 'sleep');
  return onlyEcho.test(plain) ? plain.replace(/\d+/g, '0') : plain;
}

/** A value without what no reader of it would notice: white space round and between its words. */
function plainValue(name: string, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => plainValue(name, item));
  if (isJsonObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, plainValue(plainName(key), item)]),
    );
  if (typeof value !== 'string') return value;
  const text = value.replace(/\s+/g, ' ').trim();
  return commandNames.test(name) ? plainCommand(text) : text;
}

interface PlainInput {
  readonly [name: string]: JsonValue;
}

/** The input without labels, reasons and nonces; never without anything at all. */
function plainInput(tool: Tool, input: JsonObject): PlainInput {
  const given = Object.entries(input).map(
    ([name, value]) => [plainName(name), name, value] as const,
  );
  const hasCommand = given.some(([plain]) => commandNames.test(plain));
  const saysAll = hasCommand || tool.effect === 'read';
  const isLabel = (plain: string, name: string): boolean =>
    tool.cosmetic.includes(name) ||
    reasonNames.test(plain) ||
    emptyNames.test(plain) ||
    (saysAll && (nonceNames.test(plain) || labelNames.test(plain)));
  const kept = given.filter(([plain, name]) => !isLabel(plain, name));
  const declared = given.filter(([, name]) => !tool.cosmetic.includes(name));
  const shown = kept.length > 0 ? kept : declared;
  return Object.fromEntries(shown.map(([plain, , value]) => [plain, plainValue(plain, value)]));
}

function isNumeric(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isNumeric);
  return typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value.trim()));
}

/** The input without what only moves a window; undefined where nothing does. */
function windowInput(tool: Tool, input: PlainInput): PlainInput | undefined {
  const isRead = tool.effect === 'read';
  const entries = Object.entries(input).flatMap(([name, value]): [string, JsonValue][] => {
    if (isRead && windowNames.test(name) && (isNumeric(value) || /cursor|token/.test(name)))
      return [];
    if (commandNames.test(name) && typeof value === 'string')
      return [[name, value.replace(windowWords, '0')]];
    return [[name, value]];
  });
  const window = Object.fromEntries(entries);
  return canonicalJson(window) === canonicalJson(input) ? undefined : window;
}

/** A value that may be a mere label: one short line that names no place. */
function isWordy(value: JsonValue): boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return true;
  return typeof value === 'string' && value.length <= 200 && !/[\n/\\]|\.\w/.test(value);
}

/** A write without the numbers in its captions; undefined where there are none, or nothing beside them. */
function uncountedInput(input: PlainInput): PlainInput | undefined {
  const isCounted = (name: string): boolean =>
    captionNames.test(name) && typeof input[name] === 'string' && /\d/.test(input[name]);
  const names = Object.keys(input);
  if (!names.some(isCounted) || names.every((name) => captionNames.test(name))) return undefined;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      isCounted(name) && typeof value === 'string' ? value.replace(/\d+/g, '0') : value,
    ]),
  );
}

/** What the call does, without values beside it that may be labels; undefined where nothing of that kind is there. */
function gistInput(tool: Tool, input: PlainInput): PlainInput | undefined {
  const acts = (name: string): boolean =>
    commandNames.test(name) || (tool.effect === 'read' && questionNames.test(name));
  const names = Object.keys(input);
  if (!names.some(acts)) return tool.effect === 'read' ? undefined : uncountedInput(input);
  const kept = names.filter((name) => acts(name) || targetNames.test(name));
  const dropped = names.filter((name) => !kept.includes(name));
  if (dropped.length === 0 || !dropped.every((name) => isWordy(input[name] ?? null)))
    return undefined;
  return Object.fromEntries(kept.map((name) => [name, input[name] ?? null]));
}

/** Whether the call has nothing but words and numbers for people: there is nothing in it that could repeat. */
function isTalk(input: JsonObject, isWord: (name: string) => boolean): boolean {
  return Object.entries(input).every(
    ([name, value]) => isNumeric(value) || typeof value === 'boolean' || isWord(plainName(name)),
  );
}

function idleOf(tool: Tool, input: JsonObject): CallLikeness['idle'] {
  const command = commandOf(input);
  if (command !== undefined && onlyPause.test(command)) return 'waits';
  if (command !== undefined && pauseFirst.test(command)) return 'waits-first';
  if (waitTools.test(tool.name))
    return isTalk(input, (name) => reasonNames.test(name) || labelNames.test(name))
      ? 'waits'
      : 'waits-first';
  const names = Object.keys(input).map(plainName);
  if (
    names.some((name) => reasonNames.test(name)) &&
    isTalk(input, (name) => reasonNames.test(name))
  )
    return 'thinks';
  const waits = Object.entries(input).some(
    ([name, value]) => waitNames.test(plainName(name)) && typeof value === 'number' && value >= 1,
  );
  return waits ? 'waits-first' : undefined;
}

/** What a changing tool is aimed at: the file, where it names one. */
function targetOf(tool: Tool, input: JsonObject): string | undefined {
  if (tool.effect === 'read') return undefined;
  const name = tool.editsFile ?? fileField(Object.keys(input));
  const value = name === undefined ? undefined : input[name];
  return typeof value === 'string' ? value.replace(/^(?:\.\/)+/, '') : undefined;
}

function present<Name extends string>(
  name: Name,
  value: string | undefined,
): { readonly [Key in Name]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [Key in Name]?: string });
}

/**
 * Identities of a call for the loop detector (ADR 0019): equal ones mean that the call is made again.
 *
 * Contract: deterministic; short, whatever the input is.
 */
export function callLikeness(
  tool: Tool,
  input: JsonObject,
): Pick<ProposedToolCall, 'fingerprint' | 'alike'> {
  const hash = (part: JsonValue | undefined): string | undefined =>
    part === undefined ? undefined : shortHash(`${tool.name} ${canonicalJson(part)}`);
  const plain = plainInput(tool, input);
  const idle = idleOf(tool, input);
  const alike: CallLikeness = {
    ...present('window', hash(windowInput(tool, plain))),
    ...present('gist', hash(gistInput(tool, plain))),
    ...present('target', hash(targetOf(tool, input))),
    ...defined({ idle }),
  };
  return {
    fingerprint: shortHash(`${tool.name} ${canonicalJson(plain)}`),
    ...(Object.keys(alike).length === 0 ? {} : { alike }),
  };
}
