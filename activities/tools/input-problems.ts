/** Describes for the model what is wrong with a tool call's input. */
import type { ErrorObject } from 'ajv';
import { Ajv } from 'ajv';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { isJsonObject } from './input-schema';
import { nearestName } from './nearest-name';

/** One thing that is wrong with an input, and where. */
export interface InputProblem {
  /** `unknown`: a parameter that the schema does not have, which zod may drop silently. */
  readonly kind: 'missing' | 'unknown' | 'value';
  /** `items[0].name`; empty for the input as a whole. */
  readonly path: string;
  readonly text: string;
}

/** Problems reported at once; more would bury the first. */
const maxProblems = 10;
/** Characters of a value that a problem shows. */
const shownChars = 60;
/** Characters of an unknown parameter's path. */
const shownPathChars = 120;
/** Listed values that a problem names. */
const shownValues = 30;

/** Path of a value in an input, such as `items[0].name`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? String(step) : `${text}.${String(step)}`;
  }, '');
}

/** `/items/0/name` as steps. */
function stepsOf(pointer: string): readonly PropertyKey[] {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) =>
    /^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~'),
  );
}

function shown(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object' || value === undefined) return typeof value;
  const text = JSON.stringify(value);
  const type = Number.isInteger(value) ? 'integer' : typeof value;
  return `${type} ${text.length > shownChars ? `${text.slice(0, shownChars)}…` : text}`;
}

function expectedProblem(path: string, expected: string, data: unknown, more = ''): InputProblem {
  const text =
    path === ''
      ? `The input must be a JSON object, received ${shown(data)}`
      : `Parameter ${path}: expected ${expected}, received ${shown(data)}${more}`;
  return { kind: 'value', path, text };
}

function listProblem(path: string, allowed: readonly unknown[], data: unknown): InputProblem {
  const names = allowed.filter((item) => typeof item === 'string');
  const meant = typeof data === 'string' ? nearestName(data, names) : undefined;
  const list = allowed.slice(0, shownValues).map((item) => JSON.stringify(item));
  const expected = list.length === 1 ? list.join() : `one of ${list.join(', ')}`;
  const guess = meant === undefined ? '' : `; nearest is ${JSON.stringify(meant)}`;
  return expectedProblem(path, expected, data, guess);
}

function unknownProblem(path: string, name: string, known: readonly string[]): InputProblem {
  const meant = nearestName(name, known);
  const advice =
    meant === undefined
      ? `known are ${known.join(', ') || 'none'}`
      : `the nearest known one is ${meant}`;
  const text = `Unknown parameter: ${path.slice(0, shownPathChars)}; ${advice}`;
  return { kind: 'unknown', path, text };
}

function propertyNames(schema: unknown): readonly string[] {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined;
  return isJsonObject(properties) ? Object.keys(properties) : [];
}

/** The problem that an error of the validator means; undefined for what is not about structure. */
function problemOf(error: ErrorObject, outer: readonly PropertyKey[]): InputProblem | undefined {
  const { keyword, params, data, parentSchema } = error as ErrorObject<
    string,
    Readonly<Record<string, unknown>>
  >;
  const steps = [...outer, ...stepsOf(error.instancePath)];
  const path = pathText(steps);
  switch (keyword) {
    case 'required': {
      const missing = pathText([...steps, String(params['missingProperty'])]);
      return { kind: 'missing', path: missing, text: `Missing required parameter: ${missing}` };
    }
    case 'additionalProperties': {
      const name = String(params['additionalProperty']);
      return unknownProblem(pathText([...steps, name]), name, propertyNames(parentSchema));
    }
    case 'type':
      return expectedProblem(path, [params['type']].flat().join(' or '), data);
    case 'enum':
      return listProblem(path, params['allowedValues'] as readonly unknown[], data);
    case 'const':
      return listProblem(path, [params['allowedValue']], data);
    default:
      return undefined;
  }
}

/** The problems of the alternative that was most likely meant. */
function alternativeProblems(
  tried: readonly (readonly InputProblem[])[],
  path: string,
  data: unknown,
): readonly InputProblem[] {
  const isElsewhere = (problems: readonly InputProblem[]): boolean =>
    problems.some((problem) => problem.path !== path);
  if (!tried.some(isElsewhere)) {
    const expected = tried.flat().map(({ text }) => /expected (.+?), received/.exec(text)?.[1]);
    const names = new Set(expected.filter((name) => name !== undefined));
    return [expectedProblem(path, [...names].join(' or '), data)];
  }
  // A wrong fixed value means that another alternative was meant.
  const misses = (problems: readonly InputProblem[]): number =>
    problems.reduce((sum, { text }) => sum + (text.includes(': expected "') ? 10 : 1), 0);
  const [best = []] = tried.filter(isElsewhere).sort((one, other) => misses(one) - misses(other));
  return best;
}

const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  strict: false,
  validateSchema: false,
  validateFormats: false,
  ownProperties: true,
  addUsedSchema: false,
  logger: false,
});

/** Finds what is wrong with an input by a schema's structure. */
export type StructuralCheck = (
  input: unknown,
  outer?: readonly PropertyKey[],
) => readonly InputProblem[];

function checkOf(schema: JsonObject, root: JsonObject): StructuralCheck {
  const alternatives = new Map<JsonObject, StructuralCheck>();
  const checkAlternative = (alternative: JsonValue): StructuralCheck => {
    if (!isJsonObject(alternative)) return () => [];
    const { $defs = {}, definitions = {} } = root;
    const check =
      alternatives.get(alternative) ?? checkOf({ ...alternative, $defs, definitions }, root);
    alternatives.set(alternative, check);
    return check;
  };
  const validate = ajv.compile(schema);
  return (input, outer = []) => {
    if (validate(input)) return [];
    const errors = validate.errors ?? [];
    const unions = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
    const outermost = unions.filter(({ instancePath }) =>
      unions.every((union) => !instancePath.startsWith(`${union.instancePath}/`)),
    );
    const isInUnion = ({ instancePath }: ErrorObject): boolean =>
      outermost.some(
        (union) =>
          instancePath === union.instancePath || instancePath.startsWith(`${union.instancePath}/`),
      );
    const plain = errors
      .filter((error) => !isInUnion(error))
      .flatMap((error) => problemOf(error, outer) ?? []);
    const chosen = outermost.flatMap(({ instancePath, schema: branches, data }) => {
      const steps = [...outer, ...stepsOf(instancePath)];
      const tried = (branches as readonly JsonValue[]).map((branch) =>
        checkAlternative(branch)(data, steps),
      );
      return alternativeProblems(tried, pathText(steps), data);
    });
    // A value of a wrong type is also not in its list: the first problem of a place says enough.
    const all = [...plain, ...chosen];
    return all.filter(
      ({ kind, path }, index) =>
        kind !== 'value' || all.findIndex((other) => other.path === path) === index,
    );
  };
}

/**
 * Makes the check of a schema's structure: missing, unknown, of a wrong type, not in the list.
 *
 * Contract: the check never throws; no problem does not mean valid (formats, ranges and rules are the validator's). A schema
 * that cannot be compiled finds nothing.
 * Source: R-TOOL-4 fixes `Missing required parameter: NAME`.
 */
export function structuralCheck(schema: JsonObject): StructuralCheck {
  let check: StructuralCheck | undefined;
  return (input) => {
    try {
      check ??= checkOf(schema, schema);
      return check(input);
    } catch {
      return [];
    }
  };
}

/** Adds the validator's problems unless a structural one explains the same place, and bounds the list. */
export function problemTexts(
  structural: readonly InputProblem[],
  byValidator: readonly InputProblem[],
): readonly string[] {
  const isExplained = ({ path }: InputProblem): boolean =>
    structural.some(
      (known) =>
        path === '' ||
        known.path === path ||
        known.path.startsWith(`${path}.`) ||
        known.path.startsWith(`${path}[`),
    );
  const all = [...structural, ...byValidator.filter((problem) => !isExplained(problem))];
  const texts = [...new Set(all.map(({ text }) => text))];
  return texts.length > maxProblems
    ? [...texts.slice(0, maxProblems), `… and ${texts.length - maxProblems} more`]
    : texts;
}

/**
 * Trusted advice for an input that does not fit: what is required, and what is optional.
 *
 * Source: R-TOOL-4 fixes the form `Required parameters: ['content', 'chat_id']`.
 */
export function parametersHint(schema: JsonObject): string {
  const required = Array.isArray(schema['required'])
    ? schema['required'].filter((name): name is string => typeof name === 'string')
    : [];
  const optional = propertyNames(schema).filter((name) => !required.includes(name));
  const quoted = (names: readonly string[]): string =>
    `[${names.map((name) => `'${name}'`).join(', ')}]`;
  const rest = optional.length === 0 ? '' : `. Optional parameters: ${quoted(optional)}`;
  return `Required parameters: ${quoted(required)}${rest}`;
}
