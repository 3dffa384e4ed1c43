/** Knowledge of tools from their definitions alone: which serve the same purpose, and which mistakes are likely. */
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import type { KnownTool, ToolHint, ToolKnowledge } from '../definitions/tool-knowledge';
import { hintChars, mostHints } from '../definitions/tool-knowledge';
import { isJsonObject } from '../tools/input-schema';
import { isList } from '../tools/value-shape';
import { alternativesOf, finderOf } from './tool-purpose';
import { shortened } from '../../workflows/core/shortened';

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
  uuid: 'a UUID from an earlier result',
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

/** Hints for one tool: required parameters first, then each parameter in order. */
function schemaHints(tool: KnownTool, tools: readonly KnownTool[]): readonly ToolHint[] {
  const { inputSchema } = tool;
  const properties = isJsonObject(inputSchema['properties']) ? inputSchema['properties'] : {};
  const finder = finderOf(tools.filter(({ name }) => name !== tool.name));
  const required = isList(inputSchema['required']) ? inputSchema['required'] : [];
  const needs: readonly ToolHint[] = [
    { mistake: 'missing-parameter', hint: `Always pass ${shown(required)}.` },
  ];
  const values = Object.entries(properties).flatMap(([parameter, schema]) =>
    isJsonObject(schema) ? valueHint(parameter, schema, finder) : [],
  );
  return required.length === 0 ? values : [...needs, ...values];
}

/**
 * Knowledge from names, descriptions and schemas alone.
 *
 * Contract: pure; the same definitions give the same knowledge.
 */
export function knowledgeByRules(tools: readonly KnownTool[]): ToolKnowledge {
  const { alternatives, hints }: ToolKnowledge = { alternatives: {}, hints: {} };
  for (const tool of tools) {
    const others = alternativesOf(tool, tools);
    if (others.length > 0) alternatives[tool.name] = others;
    const known = schemaHints(tool, tools).slice(0, mostHints);
    if (known.length > 0)
      hints[tool.name] = known.map((hint) => ({ ...hint, hint: shortened(hint.hint, hintChars) }));
  }
  return { alternatives, hints };
}
