/** Describes what made a failed call work as a template without values, and makes a call of such a template again. */
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { isJsonObject } from '../tools/input-schema';
import type { Fix, ParameterChange } from '../stores/patterns/pattern-shape';
import {
  applyTransform,
  holdsValue,
  isList,
  shapeOf,
  transformBetween,
} from '../tools/value-shape';
import { valueFromResult } from './value-from-result';

/** A successful result that the model had read between the two calls. */
export interface ReadResult {
  readonly tool: string;
  readonly text: string;
}

/** A tool call with its parsed input. */
export interface CallWithInput {
  readonly tool: string;
  readonly input: JsonObject;
}

function equal(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** Whether the schema itself names the value, so that it is nobody's secret. */
function isListed(
  schema: JsonObject,
  parameter: string,
  value: JsonValue | undefined,
): value is string | number | boolean {
  if (typeof value === 'boolean') return true;
  if (typeof value !== 'string' && typeof value !== 'number') return false;
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const property = properties[parameter];
  if (!isJsonObject(property)) return false;
  const listed = isList(property['enum']) ? property['enum'] : [];
  return [...listed, property['const'], property['default']].some((known) => equal(known, value));
}

interface Comparison {
  readonly failed: JsonObject;
  readonly sameTool: boolean;
  /** Schema of the tool whose call worked. */
  readonly schema: JsonObject;
  /** Newest last. */
  readonly results: readonly ReadResult[];
}

function changeOf(
  parameter: string,
  after: JsonValue | undefined,
  { failed, sameTool, schema, results }: Comparison,
): ParameterChange | undefined {
  const before = sameTool ? failed[parameter] : undefined;
  if (sameTool && equal(before, after)) return undefined;
  const transform = before === undefined ? undefined : transformBetween(before, after);
  if (transform !== undefined) return { type: 'transformed', parameter, transform };
  const was = shapeOf(before);
  const becomes = shapeOf(after);
  if (isListed(schema, parameter, after)) return { type: 'constant', parameter, value: after };
  const [source] = Object.entries(failed).filter(
    ([name, value]) => !(sameTool && name === parameter) && equal(value, after),
  );
  if (source !== undefined) return { type: 'copied', parameter, from: source[0] };
  const from =
    typeof after === 'string' ? results.findLast(({ text }) => holdsValue(text, after)) : undefined;
  if (from !== undefined) return { type: 'from-result', parameter, tool: from.tool, was, becomes };
  return { type: 'changed', parameter, was, becomes };
}

/** What made the second call work where the first one failed. */
export function fixBetween(
  failed: CallWithInput,
  worked: CallWithInput,
  schema: JsonObject,
  results: readonly ReadResult[],
): Fix {
  const sameTool = failed.tool === worked.tool;
  const comparison: Comparison = { failed: failed.input, sameTool, schema, results };
  const names = sameTool
    ? [...new Set([...Object.keys(failed.input), ...Object.keys(worked.input)])]
    : Object.keys(worked.input);
  const changes = names
    .sort()
    .flatMap((name) => changeOf(name, worked.input[name], comparison) ?? []);
  const adjusted = changes.length === 0 ? 'retry' : 'parameter-adjustment';
  return {
    strategy: sameTool ? adjusted : 'alternative-tool',
    toolName: worked.tool,
    changes,
  };
}

function changedValue(
  change: ParameterChange,
  failed: JsonObject,
  results: readonly ReadResult[],
): JsonValue | undefined {
  const before = failed[change.parameter];
  switch (change.type) {
    case 'constant':
      return change.value;
    case 'copied':
      return failed[change.from];
    case 'transformed':
      return before === undefined ? undefined : applyTransform(change.transform, before);
    case 'from-result': {
      if (shapeOf(before) !== change.was) return undefined;
      const texts = results.filter(({ tool }) => tool === change.tool).map(({ text }) => text);
      for (const text of texts.toReversed()) {
        const value = valueFromResult(text, before, change.becomes);
        if (value !== undefined) return value;
      }
      return undefined;
    }
    case 'changed':
      return undefined;
  }
}

/** The parameters that a template gives for a call that failed; undefined if it is advice only. */
export function parametersFrom(
  fix: Fix,
  failed: JsonObject | undefined,
  results: readonly ReadResult[],
): JsonObject | undefined {
  if (failed === undefined || fix.strategy === 'escalate') return undefined;
  const parameters: Record<string, JsonValue> =
    fix.strategy === 'alternative-tool' ? {} : { ...failed };
  for (const change of fix.changes) {
    if (change.type === 'changed' && change.becomes === 'absent') {
      Reflect.deleteProperty(parameters, change.parameter);
      continue;
    }
    const value = changedValue(change, failed, results);
    if (value === undefined) return undefined;
    parameters[change.parameter] = value;
  }
  return parameters;
}

function changeText(change: ParameterChange): string {
  const { parameter } = change;
  switch (change.type) {
    case 'from-result':
      return `${parameter}: ${change.was} → ${change.becomes} from the result of ${change.tool}`;
    case 'transformed':
      return `${parameter}: ${change.transform}`;
    case 'copied':
      return `${parameter}: the value of ${change.from}`;
    case 'constant':
      return `${parameter}: ${JSON.stringify(change.value)}`;
    case 'changed':
      return change.becomes === 'absent'
        ? `without ${parameter}`
        : `${parameter}: ${change.was} → ${change.becomes}`;
  }
}

/** A fix in words, for people and for the model. */
export function describeFix({ strategy, toolName, changes }: Fix): string {
  const how = changes.map(changeText).join('; ');
  switch (strategy) {
    case 'retry':
      return `call ${toolName} again with the same parameters`;
    case 'escalate':
      return 'ask a person';
    case 'alternative-tool':
      return `call ${toolName} instead${how === '' ? '' : ` (${how})`}`;
    case 'parameter-adjustment':
      return `call ${toolName} with ${how}`;
  }
}
