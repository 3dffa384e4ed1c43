/** Likely mistakes of a call, read off the schema of its input. */
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { isList } from '../tools/value-shape';
import { isJsonObject } from '../tools/input-schema';
import type { KnownTool, ToolHint } from './tool-knowledge';
import { finderOf } from './tool-purpose';

/** Values of a list that a hint names. */
const shownValues = 8;
/** Characters of a pattern that a hint shows. */
const patternChars = 60;

const formats: { readonly [format: string]: string } = {
  date: 'a date such as 2026-11-28',
  'date-time': 'a time with its zone such as 2026-11-28T09:30:00Z',
  time: 'a time of day such as 09:30:00',
  email: 'an e-mail address',
  uri: 'a whole URL with https://',
  url: 'a whole URL with https://',
  uuid: 'a UUID as an earlier result gave it',
};

function isPath(name: string, { description }: JsonObject): boolean {
  if (/(?:^|[_-])(?:path|file|filename|directory|dir|folder)$/i.test(name)) return true;
  if (/(?:Path|File|Dir)$/.test(name)) return true;
  return (
    typeof description === 'string' && /\bpath of\b|\bpath to\b|\bfile path\b/i.test(description)
  );
}

function shown(values: readonly JsonValue[]): string {
  const named = values.slice(0, shownValues).map((value) => JSON.stringify(value));
  return `${named.join(', ')}${values.length > shownValues ? ', …' : ''}`;
}

function bounds({ minimum, maximum }: JsonObject): string | undefined {
  if (typeof minimum === 'number' && typeof maximum === 'number')
    return `a number from ${minimum} to ${maximum}`;
  if (typeof minimum === 'number') return `a number of at least ${minimum}`;
  return typeof maximum === 'number' ? `a number of at most ${maximum}` : undefined;
}

function valueHint(parameter: string, schema: JsonObject, finder: string | undefined): ToolHint[] {
  const of = (mistake: ToolHint['mistake'], what: string): ToolHint[] => [
    { mistake, parameter, hint: `"${parameter}" is ${what}.` },
  ];
  const { enum: listed, format, pattern, type } = schema;
  if (isList(listed)) return of('wrong-value', `one of ${shown(listed)}`);
  if (typeof format === 'string' && formats[format] !== undefined)
    return of('wrong-format', formats[format]);
  const isText = type === undefined || type === 'string';
  if (isText && isPath(parameter, schema)) {
    const as =
      finder === undefined
        ? 'as earlier results name it'
        : `as results of ${finder} name it, without ":line"`;
    return of('wrong-path', `a whole path ${as}; a bare file name is not found`);
  }
  if (typeof pattern === 'string' && pattern.length <= patternChars)
    return of('wrong-format', `a text that matches ${pattern}`);
  const limits = bounds(schema);
  return limits === undefined ? [] : of('wrong-value', limits);
}

/** Hints for one tool: what it cannot do without first, then its parameters in their order. */
export function schemaHints(tool: KnownTool, tools: readonly KnownTool[]): readonly ToolHint[] {
  const { inputSchema } = tool;
  const properties = isJsonObject(inputSchema['properties']) ? inputSchema['properties'] : {};
  const finder = finderOf(tools.filter(({ name }) => name !== tool.name));
  const required = isList(inputSchema['required']) ? inputSchema['required'] : [];
  const needs: readonly ToolHint[] =
    required.length === 0
      ? []
      : [{ mistake: 'missing-parameter', hint: `It cannot do without ${shown(required)}.` }];
  const values = Object.entries(properties).flatMap(([parameter, schema]) =>
    isJsonObject(schema) ? valueHint(parameter, schema, finder) : [],
  );
  return [...needs, ...values];
}
