/** Takes from whole outputs the value that corrects a wrong one, if it is certain (ADR 0033). */
import type { JsonValue } from '../../workflows/core/json';
import { fittingPaths } from '../../workflows/core/recovery/memory';
import type { ValueShape } from '../stores/patterns/pattern-shape';
import { linesToRead, namedPaths } from '../tool-call/named-paths';
import { lastPart, shapeOf } from '../tools/value-shape';

const pathShapes: ReadonlySet<ValueShape> = new Set([
  'absolute path',
  'relative path',
  'bare file name',
]);

/** Words that may be values: split at spaces, quotes, and brackets, without line numbers and punctuation. */
function wordsOf(text: string): readonly string[] {
  return text
    .split(/[\s\0"'`<>()[\]{},;|=]+/)
    .map((word) =>
      word.replace(/(?<=\w)(?::\d{1,7}){1,2}:?.*$/, '').replace(/(?<![.:!?])[.:!?]+$/, ''),
    )
    .filter((word) => word !== '');
}

/** The values of a shape that an output holds whole. */
function valuesIn(output: string, shape: ValueShape): readonly string[] {
  const values = pathShapes.has(shape)
    ? namedPaths(output).map(({ path }) => path)
    : linesToRead(output).flatMap(({ text }) => wordsOf(text));
  return [...new Set(values)].filter((value) => shapeOf(value) === shape);
}

function named(values: readonly string[], wrong: string): readonly string[] {
  const fitting = fittingPaths(values, wrong);
  if (fitting.length > 0 || wrong === '') return fitting;
  const name = lastPart(wrong).toLowerCase();
  return values.filter((value) => lastPart(value).toLowerCase() === name && value !== wrong);
}

/** The value in a whole output that corrects a wrong one: the only value that the wrong one may mean, else the only one of the wanted shape. */
export function valueFromResult(
  output: string,
  wrong: JsonValue | undefined,
  shape: ValueShape,
): string | undefined {
  const values = valuesIn(output, shape);
  const meant = typeof wrong === 'string' ? named(values, wrong) : [];
  const [only, ...others] = meant.length > 0 ? meant : values;
  return others.length === 0 && only !== wrong ? only : undefined;
}
