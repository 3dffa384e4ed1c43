/** Finds the parameters in an input that a schema marks `privileged`: the schema alone decides, and no input can unmark one. */
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { isJsonObject, resolveReference } from './input-schema';

/** The keyword, in zod `.meta({ privileged: true })`. */
const keyword = 'privileged';

/** A privileged parameter in use. */
export interface PrivilegedParameter {
  /** `options.force`, `items[2].owner`. */
  readonly path: string;
  readonly value: JsonValue;
}

const combinators = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'not'] as const;

function schemasIn(value: JsonValue | undefined): readonly JsonObject[] {
  if (Array.isArray(value)) return value.filter(isJsonObject);
  return isJsonObject(value) ? [value] : [];
}

/** The node and every schema that applies to the same value: references and alternatives. */
function alternatives(root: JsonObject, node: JsonObject): readonly JsonObject[] {
  const all = new Set<JsonObject>();
  const open = [node];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (all.has(next)) continue;
    all.add(next);
    const reference = next['$ref'];
    if (typeof reference === 'string') open.push(...schemasIn(resolveReference(root, reference)));
    for (const combinator of combinators) open.push(...schemasIn(next[combinator]));
  }
  return [...all];
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(key);
  } catch {
    // An invalid pattern counts as a match: the safe side.
    return true;
  }
}

function schemasOfProperty(node: JsonObject, key: string): readonly JsonObject[] {
  const { properties, patternProperties, additionalProperties } = node;
  const named = isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : {};
  const byPattern = isJsonObject(patternProperties)
    ? Object.entries(patternProperties).flatMap(([pattern, schema]) =>
        matches(pattern, key) ? schemasIn(schema) : [],
      )
    : [];
  return [...schemasIn(named), ...byPattern, ...schemasIn(additionalProperties)];
}

function schemasOfItem(node: JsonObject, index: number): readonly JsonObject[] {
  const { items, prefixItems } = node;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const placed: unknown = tuple[index];
  const each = Array.isArray(items) ? [] : schemasIn(items);
  return [...(isJsonObject(placed) ? [placed] : []), ...each];
}

function find(
  root: JsonObject,
  nodes: readonly JsonObject[],
  value: JsonValue,
  path: string,
): readonly PrivilegedParameter[] {
  const all = nodes.flatMap((node) => alternatives(root, node));
  if (all.length === 0) return [];
  const own = all.some((node) => node[keyword] === true)
    ? [{ path: path === '' ? 'input' : path, value }]
    : [];
  if (Array.isArray(value))
    return value.reduce<readonly PrivilegedParameter[]>(
      (found, item: JsonValue, index) => [
        ...found,
        ...find(
          root,
          all.flatMap((node) => schemasOfItem(node, index)),
          item,
          `${path}[${index}]`,
        ),
      ],
      own,
    );
  if (!isJsonObject(value)) return own;
  const inside = Object.entries(value).flatMap(([key, item]) => {
    const schemas = all.flatMap((node) => schemasOfProperty(node, key));
    return find(root, schemas, item, path === '' ? key : `${path}.${key}`);
  });
  return [...own, ...inside];
}

function mentions(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.some((item: JsonValue) => mentions(item));
  if (!isJsonObject(schema)) return false;
  return schema[keyword] === true || Object.values(schema).some(mentions);
}

/**
 * Makes the finder of one tool.
 *
 * Contract: `schema` is JSON Schema as the tool's author or server wrote it, before it is made fit for vendors.
 */
export function privilegedFinder(
  schema: JsonObject,
): (input: JsonObject) => readonly PrivilegedParameter[] {
  if (!mentions(schema)) return () => [];
  return (input) => find(schema, [schema], input, '');
}
