/** Writes any value as JSON that is true: what JSON cannot carry says in its place what it was (ADR 0044). */
import {
  isAnyArrayBuffer,
  isBoxedPrimitive,
  isDate,
  isMap,
  isPromise,
  isProxy,
  isRegExp,
  isSet,
} from 'node:util/types';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { binaryNote } from '../untrusted/decode-text';
import { withoutRedraws } from '../untrusted/redraws';
import { describeThrown, isError } from '../tool-call/error-text';

/** Levels of a value that are written: more than a model reads, and few enough for the stack. */
const maxDepth = 200;
/** Values that are written: a second of work. An object that many places refer to is written in each. */
const maxValues = 1_000_000;
/** Entries of an iterator, which may have no end. */
const maxIterated = 10_000;

type Fields = Readonly<Record<string, unknown>>;

const quoted = (text: string): string => JSON.stringify(stripHidden(withoutRedraws(text)));

/** The name of the class of an object, or of what the language calls it, such as a generator; empty if it has none. */
export function classOf(value: object): string {
  const { constructor, [Symbol.toStringTag]: tag }: Fields & { [Symbol.toStringTag]?: unknown } =
    value as Fields;
  if (typeof constructor === 'function') return constructor.name;
  return typeof tag === 'string' ? tag : '';
}

/** `a` or `an` and the name. */
export function aNamed(name: string): string {
  return `${/^[AEIOU](?!RL)/i.test(name) ? 'an' : 'a'} ${name}`;
}

const isFunctionOf = (value: object, name: string): boolean =>
  typeof (value as Fields)[name] === 'function';

/** A promise: a failure that nobody waits for must not end the process. */
function promiseNote(value: object): string {
  // Only of a real one: what merely has a `then`, such as a query, may begin its work with it.
  if (isPromise(value)) value.catch(() => undefined);
  return '[a Promise: await it and return its value]';
}

/** The text for an error: its name, message, status, response and causes; never what else hangs on it. */
export function errorText(value: unknown): string {
  const text = describeThrown(value);
  const { name } = value as { name?: unknown };
  return typeof name !== 'string' || text.startsWith(name) ? text : `${name}: ${text}`;
}

/** Bytes in a note; undefined for anything else. */
function bytesNote(value: object): string | undefined {
  if (isAnyArrayBuffer(value)) return binaryNote(value.byteLength);
  if (!ArrayBuffer.isView(value)) return undefined;
  const name = classOf(value);
  const isPlain = /^(?:Buffer|Uint8Array|DataView)$/.test(name);
  return isPlain ? binaryNote(value.byteLength) : `${binaryNote(value.byteLength)} (${name})`;
}

/** Whether a value is still to be read: a stream, a cursor, a generator. A page of a list is data, though it can fetch the next. */
export function isStream(value: object): boolean {
  if (isFunctionOf(value, 'getReader') || isFunctionOf(value, 'pipe')) return true;
  if (!(Symbol.asyncIterator in value)) return false;
  return isFunctionOf(value, 'next') || Object.keys(value).length === 0;
}

/** Whether it is a part of the process: a socket, a server, a child process. */
function isMachinery(value: object): boolean {
  const emits = isFunctionOf(value, 'on') && isFunctionOf(value, 'emit');
  return emits || isFunctionOf(value, 'getWriter');
}

/** What cannot be written as it is: work to be done, and things of the machine. */
function thingNote(value: object): string | undefined {
  const name = classOf(value);
  if (isFunctionOf(value, 'then')) return promiseNote(value);
  if (/^(?:Response|Request|Blob|File)$/.test(name))
    return `[${aNamed(name)}${shortFacts(value)}: return its text]`;
  if (/^Weak(?:Map|Set|Ref)$/.test(name)) return `[${aNamed(name)}, which cannot be read]`;
  if (isStream(value))
    return `[${aNamed(/^(?:|Object)$/.test(name) ? 'stream' : name)}: read it and return its text]`;
  return isMachinery(value)
    ? `[${aNamed(name === '' ? 'thing' : name)} of the process, which is not data]`
    : undefined;
}

/** Status and address of a response, name and size of a file. */
function shortFacts(value: object): string {
  const { method, status, url, name, size } = value as Fields;
  const facts = [name, method, status, url, typeof size === 'number' ? `${size} bytes` : undefined];
  const shown = facts.filter((fact) => fact !== undefined && fact !== '');
  return shown.length === 0 ? '' : ` (${shown.map(String).join(', ')})`;
}

/** The reply of axios and clients like it: the request hangs on it, with its keys and sockets. */
function replyFields(value: Fields): Fields | undefined {
  const { status, statusText, data, config, request } = value;
  const isReply = typeof status === 'number' && 'data' in value;
  return isReply && (config !== undefined || request !== undefined)
    ? { status, statusText, data }
    : undefined;
}

/** Entries up to a bound, and a note where there are more. */
function listOf(value: Iterable<unknown>): readonly unknown[] {
  const entries: unknown[] = [];
  for (const entry of value) {
    if (entries.length >= maxIterated)
      return [...entries, new Note(`[… more than ${maxIterated} entries …]`)];
    entries.push(entry);
  }
  return entries;
}

/** A text of ours within a value. */
class Note {
  constructor(readonly text: string) {}
}

function isNamed(entry: readonly [unknown, unknown]): entry is readonly [string, unknown] {
  return typeof entry[0] === 'string';
}

/** Primitives as JSON; undefined for an object. */
function primitive(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? String(value)
        : `"${Object.is(value, -0) ? '-0' : value}"`;
    case 'boolean':
      return String(value);
    case 'bigint':
      return `"${value}n"`;
    case 'undefined':
      return '"[undefined]"';
    case 'symbol':
      return quoted(String(value));
    case 'function':
      return quoted(`[a function${value.name === '' ? '' : ` ${value.name}`}]`);
    case 'object':
      return value === null ? 'null' : undefined;
  }
}

/** Writes one value. */
class ValueWriter {
  #values = 0;
  readonly #open = new Map<object, string>();

  write(value: unknown, place = '$'): string {
    const simple = primitive(value);
    if (simple !== undefined) return simple;
    try {
      return this.#object(value as object, place);
    } catch (thrown) {
      const what = isProxy(value) ? 'a Proxy' : 'a value';
      return quoted(`[${what} that cannot be read: ${describeThrown(thrown)}]`);
    }
  }

  #object(value: object, place: string): string {
    const earlier = this.#open.get(value);
    if (earlier !== undefined) return quoted(`[a cycle: the same object as at ${earlier}]`);
    if (this.#open.size >= maxDepth) return quoted(`[… deeper than ${maxDepth} levels …]`);
    this.#values += 1;
    if (this.#values > maxValues) return quoted(`[… more than ${maxValues} values …]`);
    this.#open.set(value, place);
    try {
      return this.#content(value, place);
    } finally {
      this.#open.delete(value);
    }
  }

  #content(value: object, place: string): string {
    if (value instanceof Note) return quoted(value.text);
    if (Array.isArray(value)) return this.#list(value, place);
    if (isBoxedPrimitive(value)) return this.write(value.valueOf(), place);
    const text = textForm(value);
    if (text !== undefined) return quoted(text);
    if (isMap(value)) {
      const entries: readonly (readonly [unknown, unknown])[] = [...value];
      return entries.every(isNamed) ? this.#fields(entries, place) : this.#list(entries, place);
    }
    if (isSet(value)) return this.#list([...value], place);
    const { toJSON }: { toJSON?: unknown } = value;
    if (typeof toJSON === 'function') {
      const json: unknown = Reflect.apply(toJSON, value, ['']);
      return json === value ? this.#own(value, place) : this.write(json, place);
    }
    if (/^(?:Headers|FormData)$/.test(classOf(value)))
      return this.#fields([...(value as Iterable<[string, unknown]>)], place);
    if (Symbol.iterator in value) return this.#list(listOf(value as Iterable<unknown>), place);
    return this.#own(value, place);
  }

  #own(value: object, place: string): string {
    const reply = replyFields(value as Fields);
    const fields = Object.keys(reply ?? value).flatMap((key) => {
      const field = readField(reply ?? value, key);
      // As JSON does it: a field that is undefined is not there.
      return field === undefined ? [] : [[key, field] as const];
    });
    const name = classOf(value);
    return fields.length === 0 && !/^(?:|Object)$/.test(name) && Object.keys(value).length === 0
      ? quoted(`[${aNamed(name)} without fields that can be read]`)
      : this.#fields(fields, place);
  }

  #fields(entries: readonly (readonly [string, unknown])[], place: string): string {
    const written = entries.map(([key, entry]) => {
      return `${quoted(key)}:${this.write(entry, `${place}.${key}`)}`;
    });
    return `{${written.join(',')}}`;
  }

  #list(list: readonly unknown[], place: string): string {
    const written: string[] = [];
    let at = 0;
    const hole = (end: number): void => {
      if (end > at) written.push(quoted(`[${end - at} empty]`));
      at = end;
    };
    // By its keys, so that a list of a few entries and a huge length takes no time.
    for (const key of Object.keys(list)) {
      const index = Number(key);
      if (!Number.isInteger(index)) break;
      hole(index);
      written.push(this.write(readField(list, key), `${place}[${key}]`));
      at = index + 1;
      if (this.#values > maxValues || written.length > maxValues) break;
    }
    if (this.#values > maxValues || written.length > maxValues)
      written.push(quoted(`[… of ${list.length} entries …]`));
    else hole(list.length);
    return `[${written.join(',')}]`;
  }
}

/** The value of a field, or a note if its getter throws. */
function readField(value: object, key: string): unknown {
  try {
    return (value as Fields)[key];
  } catch (thrown) {
    return new Note(`[cannot be read: ${describeThrown(thrown)}]`);
  }
}

/** Objects that stand for one text. */
function textForm(value: object): string | undefined {
  if (isDate(value))
    return Number.isNaN(value.getTime()) ? '[an invalid Date]' : value.toISOString();
  if (isError(value)) return errorText(value);
  if (isRegExp(value)) return String(value);
  if (/^(?:URL|URLSearchParams)$/.test(classOf(value))) return (value as URL).toString();
  return bytesNote(value) ?? thingNote(value);
}

/**
 * A value as JSON.
 *
 * Contract: never throws; ends whatever the value is (cycles, proxies, endless iterators, holes) and awaits nothing. Hidden
 * characters are removed before JSON escapes them, so that they cannot split a secret.
 */
export function valueJson(value: unknown): string {
  return new ValueWriter().write(value);
}

/** The text of a value that is one, such as a date; undefined for data. */
export function valueText(value: unknown): string | undefined {
  if (typeof value === 'symbol' || typeof value === 'function')
    return JSON.parse(valueJson(value)) as string;
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return textForm(value);
  } catch {
    return undefined;
  }
}
