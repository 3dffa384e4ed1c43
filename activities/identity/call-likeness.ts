/** Identities of a tool call without the parts that differ between repeats. */
import { shortHash } from '../../workflows/core/errors/fingerprint';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import type { CallLikeness, ProposedToolCall } from '../../workflows/core/tools/ports';
import { canonicalJson } from '../stores/content-hash';
import { fileField } from '../tools/edits-file';
import { isJsonObject } from '../tools/input-schema';
import type { Tool } from '../tools/tool';
import { pauseOf, plainCommand, withoutWindow } from './command-text';
import { hasRole, isWaitTool, plainName } from './parameter-roles';

/** The command that a call runs; undefined if it runs none. */
export function commandOf(input: JsonObject): string | undefined {
  const value = Object.entries(input).find(([name]) => hasRole(name, 'command'))?.[1];
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.map(String).join(' ') : undefined;
}

/** A value with normalized white space. */
function plainValue(name: string, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => plainValue(name, item));
  if (isJsonObject(value)) return plainEntries(Object.entries(value));
  if (typeof value !== 'string') return value;
  const text = value.replace(/\s+/g, ' ').trim();
  return hasRole(name, 'command') ? plainCommand(text) : text;
}

function plainEntries(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  return Object.fromEntries(
    entries.map(([name, value]) => [plainName(name), plainValue(name, value)]),
  );
}

/** The input without labels, reasons and nonces; never empty if it has more. */
function plainInput({ cosmetic, effect }: Tool, input: JsonObject): JsonObject {
  const entries = Object.entries(input);
  const isDescribed = effect === 'read' || commandOf(input) !== undefined;
  const meant = entries.filter(([name]) => !cosmetic.includes(name));
  const decisive = meant.filter(
    ([name]) =>
      !hasRole(name, 'reason', 'key') &&
      !(isDescribed && hasRole(name, 'counter', 'text', 'caption')),
  );
  return plainEntries(decisive.length > 0 ? decisive : meant);
}

function isNumeric(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isNumeric);
  return typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value.trim()));
}

/** The input without what only moves a window; undefined if nothing does. */
function windowInput({ effect }: Tool, input: JsonObject): JsonObject | undefined {
  const isWindow = (name: string, value: JsonValue): boolean =>
    effect === 'read' && hasRole(name, 'window') && (isNumeric(value) || /cursor|token/.test(name));
  const entries = Object.entries(input)
    .filter(([name, value]) => !isWindow(name, value))
    .map(([name, value]): [string, JsonValue] =>
      hasRole(name, 'command') && typeof value === 'string'
        ? [name, withoutWindow(value)]
        : [name, value],
    );
  const rest = Object.fromEntries(entries);
  return canonicalJson(rest) === canonicalJson(input) ? undefined : rest;
}

/** Whether something of the call only moves a window. */
export function movesWindow(tool: Tool, input: JsonObject): boolean {
  return windowInput(tool, plainInput(tool, input)) !== undefined;
}

/** Whether a value may be a mere label: one short line without a path. */
function isWordy(value: JsonValue | undefined): boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return true;
  return typeof value === 'string' && value.length <= 200 && !/[\n/\\]|\.\w/.test(value);
}

/** A write without the numbers in its captions; undefined if none, or nothing beside them. */
function uncountedInput(input: JsonObject): JsonObject | undefined {
  const names = Object.keys(input);
  if (names.every((name) => hasRole(name, 'caption'))) return undefined;
  const uncounted = Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      hasRole(name, 'caption') && typeof value === 'string' ? value.replace(/\d+/g, '0') : value,
    ]),
  );
  return canonicalJson(uncounted) === canonicalJson(input) ? undefined : uncounted;
}

function requiredNames({ inputSchema }: Tool): readonly string[] {
  const { required } = inputSchema;
  if (!Array.isArray(required)) return [];
  return required.filter((name) => typeof name === 'string').map((name) => plainName(name));
}

/**
 * What the call does, without values beside it that may be labels: the command, or what the schema of a read requires, and
 * places. Undefined if nothing of that kind is left out.
 */
function gistInput(tool: Tool, input: JsonObject): JsonObject | undefined {
  const isRead = tool.effect === 'read';
  const required = isRead ? requiredNames(tool) : [];
  const acts = (name: string): boolean => hasRole(name, 'command') || required.includes(name);
  const names = Object.keys(input);
  if (!names.some(acts)) return isRead ? undefined : uncountedInput(input);
  const kept = names.filter((name) => acts(name) || hasRole(name, 'place'));
  const dropped = names.filter((name) => !kept.includes(name));
  if (dropped.length === 0 || !dropped.every((name) => isWordy(input[name]))) return undefined;
  return Object.fromEntries(kept.map((name) => [name, input[name] ?? null]));
}

/** Whether the call holds only numbers and parameters of these roles, so that nothing in it could repeat. */
function isTalk(input: JsonObject, ...roles: Parameters<typeof hasRole>[1][]): boolean {
  return Object.entries(input).every(
    ([name, value]) => isNumeric(value) || typeof value === 'boolean' || hasRole(name, ...roles),
  );
}

function idleOf({ name: tool }: Tool, input: JsonObject): CallLikeness['idle'] {
  const pause = pauseOf(commandOf(input) ?? '');
  if (pause !== undefined) return pause;
  if (isWaitTool(tool)) return isTalk(input, 'reason', 'text', 'caption') ? 'waits' : 'waits-first';
  if (Object.keys(input).some((name) => hasRole(name, 'reason')) && isTalk(input, 'reason'))
    return 'thinks';
  const waits = Object.entries(input).some(
    ([name, value]) => hasRole(name, 'wait') && typeof value === 'number' && value >= 1,
  );
  return waits ? 'waits-first' : undefined;
}

/** The target of a changing tool: the file, if it names one. */
function targetOf({ effect, editsFile }: Tool, input: JsonObject): string | undefined {
  if (effect === 'read') return undefined;
  const name = editsFile ?? fileField(Object.keys(input));
  const value = name === undefined ? undefined : input[name];
  return typeof value === 'string' ? value.replace(/^(?:\.\/)+/, '') : undefined;
}

/**
 * Identities of a call for the loop detector (ADR 0019): equal ones mean that the call is made again.
 *
 * Contract: deterministic; short for any input.
 */
export function callLikeness(
  tool: Tool,
  input: JsonObject,
): Pick<ProposedToolCall, 'fingerprint' | 'alike'> {
  const hash = (part: JsonValue): string => shortHash(`${tool.name} ${canonicalJson(part)}`);
  const hashed = (part: JsonValue | undefined): string | undefined =>
    part === undefined ? undefined : hash(part);
  const plain = plainInput(tool, input);
  const alike: CallLikeness = defined({
    window: hashed(windowInput(tool, plain)),
    gist: hashed(gistInput(tool, plain)),
    target: hashed(targetOf(tool, input)),
    idle: idleOf(tool, input),
  });
  return {
    fingerprint: hash(plain),
    ...(Object.keys(alike).length === 0 ? {} : { alike }),
  };
}
