/** The kind of a parameter's value, and how one value can be made from another: all that learning may know about values. */
import type { JsonValue } from '../../workflows/core/json';
import type { ValueShape, ValueTransform } from '../stores/patterns/pattern-shape';

/** Characters of a text that are inspected. */
const lookedAtChars = 2_000;

const textShapes: readonly (readonly [ValueShape, RegExp])[] = [
  ['empty', /^\s*$/],
  ['url', /^[a-z][a-z0-9+.-]{1,20}:\/\/\S+$/i],
  ['email', /^[^\s@]{1,100}@[^\s@]{1,200}\.[^\s@]{1,50}$/],
  ['date', /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}\S{0,30})?$/],
  ['numeric text', /^[-+]?\d{1,30}(?:[.,]\d{1,30})?$/],
  ['path with line', /^[^\s:]{1,500}\.\w{1,10}:\d{1,7}(?::\d{1,7})?(?::.*)?$/],
  ['absolute path', /^(?:\/|[A-Za-z]:[\\/]|~\/)[^\n]{0,1000}$/],
  ['relative path', /^(?:\.{0,2}[\w@. -]{0,200}[\\/])+[^\n/\\]{0,300}$/],
  ['bare file name', /^[\w@ -][\w@. -]{0,200}\.[A-Za-z]\w{0,9}$/],
  ['word', /^[\w.-]{1,100}$/],
];

/** Whether a value is a JSON array; `Array.isArray` says so of \`any[]\` only. */
export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The kind of a value. */
export function shapeOf(value: JsonValue | undefined): ValueShape {
  if (value === undefined) return 'absent';
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return 'number';
  if (typeof value === 'object') return isList(value) ? 'list' : 'object';
  const text = value.slice(0, lookedAtChars);
  return textShapes.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text';
}

type Transform = (value: JsonValue) => JsonValue | undefined;

function onText(change: (text: string) => JsonValue | undefined): Transform {
  return (value) => (typeof value === 'string' ? change(value) : undefined);
}

/** From the most specific to the most general: the first that explains a change wins. */
const transforms: readonly (readonly [ValueTransform, Transform])[] = [
  [
    'strip line suffix',
    onText((text) => text.slice(0, lookedAtChars).replace(/:\d{1,7}(?::\d{1,7})?(?::.*)?$/s, '')),
  ],
  ['strip ./', onText((text) => text.replace(/^\.\//, ''))],
  ['strip leading slash', onText((text) => text.replace(/^\/{1,5}/, ''))],
  ['strip quotes', onText((text) => text.replace(/^(["'`])([^]*)\1$/, '$2'))],
  ['trim', onText((text) => text.trim())],
  [
    'to number',
    onText((text) => {
      const number = Number(text);
      return text.trim() !== '' && Number.isFinite(number) ? number : undefined;
    }),
  ],
  [
    'to boolean',
    onText((text) => (/^(?:true|false)$/i.test(text) ? text.toLowerCase() === 'true' : undefined)),
  ],
  ['to text', (value) => (typeof value === 'number' ? String(value) : undefined)],
  ['to lower case', onText((text) => text.toLowerCase())],
  ['to upper case', onText((text) => text.toUpperCase())],
  ['last part of path', onText((text) => text.split(/[\\/]/).at(-1))],
  ['wrap in list', (value) => (isList(value) ? undefined : [value])],
  ['take out of list', (value) => (isList(value) && value.length === 1 ? value[0] : undefined)],
];

function equal(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** The known transform from `before` to `after`; undefined if there is none. */
export function transformBetween(
  before: JsonValue,
  after: JsonValue | undefined,
): ValueTransform | undefined {
  return transforms.find(([, change]) => {
    const changed = change(before);
    return changed !== undefined && !equal(changed, before) && equal(changed, after);
  })?.[0];
}

/** Applies a change; undefined if it does not apply or changes nothing. */
export function applyTransform(transform: ValueTransform, value: JsonValue): JsonValue | undefined {
  const changed = transforms.find(([name]) => name === transform)?.[1](value);
  return changed === undefined || equal(changed, value) ? undefined : changed;
}

/** Characters of a result in which a value is looked for. */
const searchedChars = 200_000;

const lastPart = (path: string): string => path.split(/[\\/]/).at(-1) ?? path;

/** Whether a text contains this value as a whole word or path. */
export function holdsValue(text: string, value: string): boolean {
  if (value.length < 3) return false;
  const searched = text.slice(0, searchedChars);
  for (let at = searched.indexOf(value); at >= 0; at = searched.indexOf(value, at + 1)) {
    const before = searched[at - 1] ?? ' ';
    const after = searched[at + value.length] ?? ' ';
    if (!/[\w/\\-]/.test(before) && !/[\w/\\-]/.test(after)) return true;
  }
  return false;
}

/** Words of a result that may be values: split at blanks, quotes and brackets, without line numbers and punctuation. */
function wordsOf(text: string): readonly string[] {
  return text
    .slice(0, searchedChars)
    .split(/[\s"'`<>()[\]{},;|=]+/)
    .map((word) =>
      word.replace(/(?<=\w)(?::\d{1,7}){1,2}:?.*$/, '').replace(/(?<![.:!?])[.:!?]+$/, ''),
    )
    .filter((word) => word !== '');
}

/** The value in a result that corrects a wrong one: the path with the same last part, or the only word of the wanted shape. */
export function valueFromResult(
  text: string,
  wrong: JsonValue | undefined,
  shape: ValueShape,
): string | undefined {
  const words = [...new Set(wordsOf(text))].filter((word) => shapeOf(word) === shape);
  const name =
    typeof wrong === 'string' && wrong !== '' ? lastPart(wrong).toLowerCase() : undefined;
  const named = words.filter((word) => lastPart(word).toLowerCase() === name && word !== wrong);
  const [match] = named;
  if (match !== undefined) return match;
  const [only, ...others] = words;
  return others.length === 0 && only !== wrong ? only : undefined;
}
