/** Checks a data converter of Temporal's, for clients and workers, and names the one fault that both must not have: two of them. */
import type { DataConverter } from '@temporalio/common';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow';

const names: readonly string[] = [
  'payloadConverterPath',
  'failureConverterPath',
  'payloadCodecs',
] satisfies (keyof DataConverter)[];

const isCodec = (codec: unknown): boolean =>
  typeof codec === 'object' &&
  codec !== null &&
  ['encode', 'decode'].every(
    (name) => typeof (codec as Record<string, unknown>)[name] === 'function',
  );

/**
 * What is wrong with a data converter; undefined if nothing is. It loads the files that the converter names, as the SDK does.
 *
 * `externalStorage` is none of what Holdfast can read back: history holds references then, which readers of history do not follow.
 */
export function dataConverterProblem(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null)
    return `must be an object with ${names.join(', ')}`;
  const { externalStorage, ...converter } = given as DataConverter;
  if (externalStorage !== undefined)
    return 'externalStorage is not supported: leave it out. What is large is in the store of createActivities already, and history holds references';
  const unknown = Object.keys(converter).filter((name) => !names.includes(name));
  if (unknown.length > 0)
    return `${unknown.join(', ')}: no such option; a data converter takes ${names.join(', ')}`;
  const { payloadCodecs = [] } = converter;
  if (!Array.isArray(payloadCodecs) || !payloadCodecs.every(isCodec))
    return 'payloadCodecs must be an array of objects with encode() and decode()';
  try {
    loadDataConverter(converter);
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}
