/** The data converter that HOLDFAST_DATA_CONVERTER names: of every command that reads or writes payloads. */
import { pathToFileURL } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { protectPath } from '../../activities/lifecycle/protected-paths';
import { dataConverterProblem } from '../../client/data-converter';
import type { Environment } from '../env';
import { reasonOf, SetupError } from '../setup-error';
import type { Surroundings } from './command-context';
import { withSecretsInEnvironment } from './own-environment';

/**
 * Loads the file, which finds every variable in `process.env` meanwhile; undefined where none is named.
 *
 * Errors: `SetupError` for a file that cannot be loaded, or whose `dataConverter` is none.
 */
export async function loadDataConverter(
  { dataConverterFile: file }: Environment,
  variables: Surroundings['variables'],
): Promise<DataConverter | undefined> {
  if (file === undefined) return undefined;
  protectPath(file);
  const module = await withSecretsInEnvironment(variables, () => load(file));
  const dataConverter = module.dataConverter ?? module.default?.dataConverter;
  const problem =
    dataConverter === undefined ? 'it exports none' : dataConverterProblem(dataConverter);
  if (problem === undefined) return dataConverter;
  throw new SetupError(
    `The data converter of ${file} is not usable: ${problem}. Write: exports.dataConverter = { payloadCodecs: [codec] }, with the codec of the workers.`,
  );
}

/** What such a module exports, if it is right. */
interface ConverterModule {
  readonly dataConverter?: DataConverter;
  readonly default?: { readonly dataConverter?: DataConverter };
}

async function load(file: string): Promise<ConverterModule> {
  try {
    return (await import(pathToFileURL(file).href)) as ConverterModule;
  } catch (thrown) {
    throw new SetupError(
      `HOLDFAST_DATA_CONVERTER names ${file}, which cannot be loaded: ${reasonOf(thrown)}. Give a .js, .cjs or .mjs module that exports \`dataConverter\`.`,
      { cause: thrown },
    );
  }
}
