/** Describes for the model what is wrong with a tool call's input. */
import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv } from 'ajv';
import type { JsonObject } from '../../workflows/core/json';
import { foreignPattern } from '../untrusted/foreign-pattern';
import { hasReferences, isJsonObject, withoutReferences } from './input-schema';
import { nearestName } from './nearest-name';

/** One thing that is wrong with an input, and where. */
export interface InputProblem {
  /**
   * `unknown`: a parameter that the schema does not have, which zod may drop silently. `rule`: the value has the right type,
   * but breaks another rule of the schema, which zod explains in its author's words.
   */
  readonly kind: 'missing' | 'unknown' | 'value' | 'rule';
  /** `items[0].name`; empty for the input as a whole. */
  readonly path: string;
  readonly text: string;
}

/** Checked input: the parsed value, or the problems in words for the model, with a trusted hint. */
export type ParsedInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly string[]; readonly hint?: string };

/** Errors of the validator that are read: their number is up to the input, and each is compared with the others. */
const maxErrors = 200;
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

/** The same from a JSON pointer, such as `/items/0/name`, and a name below it. */
export function pointerText(pointer: string, ...below: readonly string[]): string {
  const steps = pointer.split('/').slice(1);
  const decoded = steps.map((step) =>
    /^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~'),
  );
  return pathText([...decoded, ...below]);
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

/** The problem that an error of the validator means. */
function problemOf(error: ErrorObject): InputProblem {
  const { keyword, params, data, parentSchema, instancePath } = error as ErrorObject<
    string,
    Readonly<Record<string, unknown>>
  >;
  const path = pointerText(instancePath);
  switch (keyword) {
    case 'required': {
      const missing = pointerText(instancePath, String(params['missingProperty']));
      return { kind: 'missing', path: missing, text: `Missing required parameter: ${missing}` };
    }
    case 'additionalProperties': {
      const name = String(params['additionalProperty']);
      return unknownProblem(pointerText(instancePath, name), name, propertyNames(parentSchema));
    }
    case 'type':
      return expectedProblem(path, [params['type']].flat().join(' or '), data);
    case 'enum':
      return listProblem(path, params['allowedValues'] as readonly unknown[], data);
    case 'const':
      return listProblem(path, [params['allowedValue']], data);
    default: {
      const subject = path === '' ? 'The input' : `Parameter ${path}:`;
      return { kind: 'rule', path, text: `${subject} ${error.message ?? `breaks "${keyword}"`}` };
    }
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
    const expected = tried
      .flat()
      .map(({ text }) => /expected (.{1,200}?), received/.exec(text)?.[1]);
    const names = new Set(expected.filter((name) => name !== undefined));
    return [expectedProblem(path, [...names].join(' or '), data)];
  }
  // A wrong fixed value means that another alternative was meant.
  const misses = (problems: readonly InputProblem[]): number =>
    problems.reduce((sum, { text }) => sum + (text.includes(': expected "') ? 10 : 1), 0);
  const [best = []] = tried.filter(isElsewhere).sort((one, other) => misses(one) - misses(other));
  return best;
}

/** Takes schemas of any dialect, and reports everything. Patterns are foreign: an MCP server's may be made to stop the worker. */
const ajvOptions = {
  allErrors: true,
  verbose: true,
  strict: false,
  validateSchema: false,
  validateFormats: false,
  ownProperties: true,
  addUsedSchema: false,
  logger: false,
} as const;

/** A validator; not of `uniqueItems`, which compares every item with every other. */
export function schemaValidator(regExp: typeof foreignPattern): Ajv {
  const validator = new Ajv({ ...ajvOptions, code: { regExp } });
  validator.removeKeyword('uniqueItems');
  return validator;
}

const ajv = schemaValidator(foreignPattern);

/** Whether an error is one of an alternative of a union. */
function isInUnion(error: ErrorObject, union: ErrorObject, alternative = ''): boolean {
  const isBelow = `${error.instancePath}/`.startsWith(`${union.instancePath}/`);
  return isBelow && error.schemaPath.startsWith(`${union.schemaPath}/${alternative}`);
}

function problemsOf(errors: readonly ErrorObject[]): readonly InputProblem[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  const outermost = unions.filter((union) => !unions.some((outer) => isInUnion(union, outer)));
  const plain = errors.filter(
    (error) => !outermost.some((union) => error === union || isInUnion(error, union)),
  );
  const chosen = outermost.flatMap((union) => {
    const tried = (union.schema as readonly unknown[]).map((_, index) =>
      problemsOf(errors.filter((error) => isInUnion(error, union, `${index}/`))),
    );
    return alternativeProblems(tried, pointerText(union.instancePath), union.data);
  });
  // A value of a wrong type is also not in its list: the first problem of a place says enough.
  const all = [...plain.map(problemOf), ...chosen];
  const isFirst = ({ path }: InputProblem, index: number): boolean =>
    all.findIndex((other) => other.path === path) === index;
  return all.filter(
    (problem, index) =>
      problem.kind === 'missing' || problem.kind === 'unknown' || isFirst(problem, index),
  );
}

/** Finds what is wrong with an input. */
export type InputCheck = (input: unknown) => readonly InputProblem[];

/**
 * Makes the check of an input by a schema: missing, unknown, of a wrong type, not in the list, against a rule.
 *
 * Contract: the check never throws; no problem does not mean valid (formats are not checked). A schema that cannot be compiled
 * finds nothing.
 * Source: R-TOOL-4 fixes `Missing required parameter: NAME`.
 */
export function inputCheck(schema: JsonObject): InputCheck {
  let validate: ValidateFunction | undefined;
  return (input) => {
    try {
      validate ??= ajv.compile(schema);
      return validate(input) ? [] : problemsOf((validate.errors ?? []).slice(0, maxErrors));
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
  if (schema['additionalProperties'] === false && propertyNames(schema).length === 0)
    return 'The tool takes no parameters: call it with {}.';
  const optional = propertyNames(schema).filter((name) => !required.includes(name));
  const quoted = (names: readonly string[]): string =>
    `[${names.map((name) => `'${name}'`).join(', ')}]`;
  const rest = optional.length === 0 ? '' : `. Optional parameters: ${quoted(optional)}`;
  return `Required parameters: ${quoted(required)}${rest}`;
}

/** Checks input by a JSON Schema; `shown` is the schema as the model has it. */
export function parseBy(shown: JsonObject, check: InputCheck, input: unknown): ParsedInput {
  const texts = problemTexts(check(input), []);
  if (texts.length === 0 && isJsonObject(input)) return { ok: true, value: input };
  return {
    ok: false,
    problems: texts.length === 0 ? ['The input must be a JSON object'] : texts,
    hint: parametersHint(shown),
  };
}

/** The check of a foreign JSON Schema; one that refers to itself only its owner checks. */
export function checkBy(schema: JsonObject): InputCheck {
  return hasReferences(schema) ? () => [] : inputCheck(withoutReferences(schema));
}
