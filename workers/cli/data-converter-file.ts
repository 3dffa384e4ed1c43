/** The encryption or the data converter that the environment names: of every command that reads or writes payloads or the store. */
import { pathToFileURL } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { checkedEncryption, type Encryption } from '../../activities/encryption/encryption-shape';
import { protectPath } from '../../activities/lifecycle/protected-paths';
import { dataConverterProblem } from '../../client/data-converter';
import type { Environment } from '../env';
import { reasonOf, SetupError } from '../setup-error';
import type { Surroundings } from './command-context';
import { withSecretsInEnvironment } from './own-environment';

/** How payloads are encoded, and the store encrypted. */
export interface Encoding {
  readonly dataConverter?: DataConverter;
  readonly encryption?: Encryption;
}

/**
 * Makes the encryption of HOLDFAST_ENCRYPTION_KEYS, or loads the file that HOLDFAST_DATA_CONVERTER names, which finds every variable
 * in `process.env` meanwhile; nothing where neither is set.
 *
 * Errors: `SetupError` for a file that cannot be loaded, or whose `dataConverter` or `encryption` is none.
 */
export async function loadEncoding(
  { dataConverterFile: file, encryptionKeys }: Environment,
  variables: Surroundings['variables'],
): Promise<Encoding> {
  if (encryptionKeys !== undefined) {
    const { createEncryption } = await import('../../activities/encryption/encryption.ts');
    return encodingOf(createEncryption(encryptionKeys));
  }
  if (file === undefined) return {};
  protectPath(file);
  const module = await withSecretsInEnvironment(variables, () => load(file));
  const encryption = module.encryption ?? module.default?.encryption;
  if (encryption !== undefined) return encodingOf(checkedEncryption(file, encryption));
  const dataConverter = module.dataConverter ?? module.default?.dataConverter;
  const problem =
    dataConverter === undefined ? 'it exports none' : dataConverterProblem(dataConverter);
  if (dataConverter !== undefined && problem === undefined) return { dataConverter };
  throw new SetupError(
    `The data converter of ${file} is not usable: ${String(problem)}. Write: exports.encryption = createEncryption({ keyId, keys }), or exports.dataConverter = { payloadCodecs: [codec] }, with the keys or the codec of the workers.`,
  );
}

function encodingOf(encryption: Encryption): Encoding {
  return { encryption, dataConverter: encryption.dataConverter };
}

/** What such a module exports, if it is right. */
interface ConverterModule extends Encoding {
  readonly default?: Encoding;
}

async function load(file: string): Promise<ConverterModule> {
  try {
    return (await import(pathToFileURL(file).href)) as ConverterModule;
  } catch (thrown) {
    throw new SetupError(
      `HOLDFAST_DATA_CONVERTER names ${file}, which cannot be loaded: ${reasonOf(thrown)}. Give a .js, .cjs or .mjs module that exports \`encryption\` or \`dataConverter\`.`,
      { cause: thrown },
    );
  }
}
