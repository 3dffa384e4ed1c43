/** Finds the parameters in an input that a schema marks `privileged`: the schema alone decides, and no input can unmark one. */
import type { ValidateFunction } from 'ajv';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { judgedPattern } from '../untrusted/foreign-pattern';
import { pointerText, schemaValidator } from './input-problems';
import { isJsonObject, mapSchemas, withoutReferences } from './input-schema';

/** A privileged parameter in use. */
export interface PrivilegedParameter {
  /** `options.force`, `items[2].owner`. */
  readonly path: string;
  readonly value: JsonValue;
}

const combinators = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'not'];

/** The schema with every alternative in force at once, so that the input cannot choose one without a mark. */
function withAllAlternatives(schema: JsonObject): JsonObject {
  const node = mapSchemas(schema, withAllAlternatives);
  const { prefixItems, items = {} } = node;
  const dependent = ['dependentSchemas', 'dependencies'].flatMap((key) =>
    Object.values(node[key] ?? {}).filter(isJsonObject),
  );
  return {
    ...Object.fromEntries(Object.entries(node).filter(([key]) => !combinators.includes(key))),
    allOf: [...combinators.flatMap((key) => node[key] ?? []), ...dependent],
    ...(Array.isArray(prefixItems) && { items: prefixItems, additionalItems: items }),
  };
}

/** Calls `mark` for each privileged value of the inputs that the result is given. */
function markingValidator(
  schema: JsonObject,
  mark: (parameter: PrivilegedParameter) => void,
): ValidateFunction {
  const ajv = schemaValidator(judgedPattern);
  ajv.addKeyword({
    keyword: 'privileged',
    errors: false,
    validate: (
      isPrivileged: unknown,
      value: JsonValue,
      _schema?: object,
      at?: { readonly instancePath: string },
    ) => {
      const path = pointerText(at?.instancePath ?? '') || 'input';
      if (isPrivileged === true) mark({ path, value });
      return true;
    },
  });
  return ajv.compile(withAllAlternatives(withoutReferences(schema)));
}

/** Keywords below which the validator looks for no mark. */
const unread = /"(?:unevaluatedProperties|unevaluatedItems|contains|propertyNames)":/;

/** The finder of a tool whose schema marks nothing. */
export const nothingPrivileged = (): readonly PrivilegedParameter[] => [];

/**
 * Makes the finder of one tool, for the keyword that zod writes for `.meta({ privileged: true })`. If the schema cannot be
 * compiled, may have marks where the validator finds none, or `isTooHard`, the whole input counts as privileged.
 *
 * Contract: `schema` is JSON Schema as the tool's author or server wrote it, before it is made fit for vendors.
 */
export function privilegedFinder(
  schema: JsonObject,
  isTooHard: (schema: JsonObject) => boolean = () => false,
): (input: JsonObject) => readonly PrivilegedParameter[] {
  const json = JSON.stringify(schema);
  if (!json.includes('"privileged":true')) return nothingPrivileged;
  if (unread.test(json) || isTooHard(schema)) return (value) => [{ path: 'input', value }];
  const found = new Map<string, PrivilegedParameter>();
  try {
    const validate = markingValidator(schema, (parameter) => found.set(parameter.path, parameter));
    return (input) => {
      found.clear();
      validate(input);
      return [...found.values()];
    };
  } catch {
    return (value) => [{ path: 'input', value }];
  }
}
