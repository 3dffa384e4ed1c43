/** The arguments of a call for the person who decides about it: field by field, each bounded by itself (ADR 0041). */
import { defined } from '../json';
import type { JsonObject, JsonValue } from '../json';
import { stripHidden } from './hidden-characters';
import { redactionMark } from './own-secret-rules';
import type { ShownArgument, ShownArguments } from './ports';
import { decisionText, quotedStart, startOf } from './visible-text';

/** Replaces secrets by `[redacted]`. */
type Redact = (text: string) => string;

/** How arguments are shown. */
export interface ShowOptions {
  readonly redact: Redact;
  /** A short digest of a value whose secret is not shown, so that people can tell values apart. */
  readonly identify?: (text: string) => string;
  /** Names of the arguments that come first. */
  readonly first?: readonly string[];
  /** Values with hidden secrets, by name, as somebody showed them who may know more secrets: no more of them is shown. */
  readonly shownBefore?: ReadonlyMap<string, string>;
  /** Characters of all values together; Infinity shows everything. */
  readonly maxChars: number;
}

/** Characters of the values of one call's arguments, in history, notices and displays (ADR 0041). */
export const shownArgumentsChars = 4_000;

/** Characters of one value, at most and at least; of a name and of a path of them; those for which there is one field (ADR 0041). */
const mostValueChars = 1_000;
const leastValueChars = 40;
const nameChars = 60;
const pathChars = 150;
const charsPerField = 50;
/** Fields that an item of a list may take from the items behind it: these are alike (ADR 0041). */
const itemFields = 8;

/** Characters read beyond what is shown, so that no secret is cut before it is recognized: a private key has some 3,000. */
const marginChars = 4_096;
/** Characters of arguments that are searched as a whole, for secrets that only their neighbors reveal. */
const searchedChars = 65_536;

/** A value with its place. */
interface Leaf {
  readonly path: string;
  /** Nearest key: that of the list, for an item. */
  readonly key: string;
  readonly value: JsonValue;
  /** The same place after redaction of the whole. */
  readonly clean: JsonValue | undefined;
}

/** Values of a part of the arguments that have no field of their own. */
interface Rest {
  readonly path: string;
  readonly rest: number;
}

type Container = JsonObject | readonly JsonValue[];

function isContainer(value: JsonValue | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

function entriesOf(value: JsonValue): readonly (readonly [string, JsonValue])[] {
  if (!isContainer(value)) return [];
  const entries: [string, JsonValue | undefined][] = Object.entries(value);
  return entries.flatMap(([key, item]) => (item === undefined ? [] : [[key, item] as const]));
}

function childOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return isContainer(value) && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;
}

function countValues(value: JsonValue): number {
  const counts = entriesOf(value).map(([, child]) => countValues(child));
  return Math.max(
    counts.reduce((sum, count) => sum + count, 0),
    1,
  );
}

/** A text without secrets, also those that hidden characters part: no rule recognizes these as they stand. */
function withoutSecrets(text: string, redact: Redact): string {
  const clean = redact(text);
  const whole = stripHidden(clean);
  return redact(whole) === whole ? clean : redactionMark;
}

function noted(shown: string, leftOut: number): string {
  return leftOut === 0 ? shown : `${shown} +${leftOut} characters`;
}

function pathTo(path: string, key: string, redact: Redact): string {
  const head = key.slice(0, nameChars + marginChars);
  const clean = withoutSecrets(head, redact);
  const isPlain = /^[\p{L}\p{M}\p{N}_$-]+$/u.test(clean) && decisionText(clean) === clean;
  const { quoted, leftOut } = quotedStart(clean, nameChars);
  const rest = leftOut + key.length - head.length;
  if (isPlain && rest === 0) return path === '' ? key : `${path}.${key}`;
  return path === '' ? noted(quoted, rest) : `${path}[${noted(quoted, rest)}]`;
}

/**
 * The fields of a value: at most `most`, and one for each part that has more values. Every key gets a field, then what is left
 * is shared, so that no part of the arguments pushes another out.
 */
function fieldsOf(leaf: Leaf, most: number, redact: Redact): readonly (Leaf | Rest)[] {
  const { path, value, clean } = leaf;
  const entries = entriesOf(value);
  if (entries.length === 0) return [leaf];
  const isList = Array.isArray(value);
  const taken = entries.slice(0, most);
  const fields: (Leaf | Rest)[] = [];
  let spare = isList ? most : most - taken.length;
  let nested = taken.filter(([, child]) => isContainer(child)).length;
  let rest = entries.slice(most).reduce((sum, [, child]) => sum + countValues(child), 0);
  for (const [name, child] of taken) {
    if (isList && spare <= 0) {
      rest += countValues(child);
      continue;
    }
    const share = Math.floor(spare / Math.max(nested, 1));
    const allowed = isList ? Math.max(share, Math.min(spare, itemFields)) : 1 + share;
    const place = isList
      ? { path: `${path}[${name}]`, key: leaf.key }
      : { path: pathTo(path, name, redact), key: name };
    const part = { ...place, value: child, clean: childOf(clean, name) };
    const found = fieldsOf(part, allowed, redact);
    fields.push(...found);
    spare -= isList ? found.length : found.length - 1;
    if (isContainer(child)) nested -= 1;
  }
  return rest === 0 ? fields : [...fields, { path, rest }];
}

function parsed(json: string): JsonValue | undefined {
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The arguments after redaction as one text, so that neighbors count; undefined if they are too long, or no longer JSON. */
function redactedWhole(input: JsonObject, redact: Redact): JsonValue | undefined {
  const json = JSON.stringify(input);
  return json.length > searchedChars ? undefined : parsed(redact(json));
}

/** The beginning of a text without secrets, whatever reveals them: their shape, the name of the field, its neighbors. */
function redactedHead({ key, value, clean }: Leaf, head: string, redact: Redact): string {
  const isTold = typeof clean === 'string' && clean !== value;
  const text = redact(isTold ? clean.slice(0, head.length) : head);
  const named = childOf(parsed(redact(JSON.stringify({ [key]: text }))), key);
  return typeof named === 'string' ? withoutSecrets(named, redact) : redactionMark;
}

function isNamedSecret({ key, value }: Leaf, redact: Redact): boolean {
  const json = JSON.stringify({ [key]: value });
  return redact(json) !== json;
}

type CutArgument = ShownArgument & { readonly isCut: boolean };

/** The beginning of a shown value, without what is noted behind it. */
function withoutNotes(value: string): string {
  return /^(.*?)"?(?: \+\d+ characters)? \(secret hidden; /.exec(value)?.[1] ?? value;
}

function shownLeaf(leaf: Leaf, chars: number, options: ShowOptions): CutArgument {
  const { redact, identify, shownBefore } = options;
  const { value } = leaf;
  const name = startOf(leaf.path, pathChars);
  const raw = typeof value === 'string' ? value : JSON.stringify(value);
  const secret = (shown: string): CutArgument => {
    const digest = identify === undefined ? '' : `, sha256 ${identify(raw)}`;
    const note = `(secret hidden; length ${raw.length}${digest})`;
    return { name, value: `${shown} ${note}`, secret: true, isCut: false };
  };
  if (typeof value !== 'string')
    return shownBefore?.has(name) === true || isNamedSecret(leaf, redact)
      ? secret(redactionMark)
      : { name, value: raw, isCut: false };
  const head = value.slice(0, chars + marginChars);
  const text = redactedHead(leaf, head, redact);
  const { quoted, leftOut } = quotedStart(text, chars);
  const rest = leftOut + value.length - head.length;
  const shown = noted(quoted, rest);
  const before = shownBefore?.get(name);
  if (before !== undefined && !shown.startsWith(withoutNotes(before))) return secret(redactionMark);
  return text === head
    ? { name, value: shown, isCut: rest > 0 }
    : { ...secret(shown), isCut: rest > 0 };
}

/** The arguments with those of these names first. */
function ordered(input: JsonObject, first: readonly string[]): JsonObject {
  const named = first.flatMap((name) => (Object.hasOwn(input, name) ? [[name, input[name]]] : []));
  return { ...Object.fromEntries(named), ...input } as JsonObject;
}

/**
 * The arguments of a call, value by value.
 *
 * Contract: pure. Each argument has at least its name and the start of its value, whatever the others are, up to one per 50 of
 * `maxChars`; beyond, their number is told. No value can imitate another field, a line end, or an escape. A secret is hidden
 * within its value alone.
 */
export function shownArguments(input: JsonObject, options: ShowOptions): ShownArguments {
  const { redact, first = [], maxChars } = options;
  const root = {
    path: '',
    key: '',
    value: ordered(input, first),
    clean: redactedWhole(input, redact),
  };
  const most = Math.max(Math.floor(maxChars / charsPerField), 1);
  const found = entriesOf(input).length === 0 ? [] : fieldsOf(root, most, redact);
  const share = Math.max(Math.floor(maxChars / Math.max(found.length, 1)), leastValueChars);
  const chars = maxChars === Infinity ? share : Math.min(share, mostValueChars);
  const fields = found.flatMap((field): CutArgument[] => {
    if (!('rest' in field)) return [shownLeaf(field, chars, options)];
    const { path, rest } = field;
    return path === ''
      ? []
      : [{ name: startOf(path, pathChars), value: `+${rest} more values`, isCut: true }];
  });
  const more = found.find((field): field is Rest => 'rest' in field && field.path === '')?.rest;
  const isPart = more !== undefined || fields.some(({ isCut }) => isCut);
  return {
    fields: fields.map(({ isCut: _told, ...field }) => field),
    ...defined({ more, isPart: isPart ? (true as const) : undefined }),
  };
}
