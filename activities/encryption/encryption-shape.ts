/** What an encryption is to those who are given one. */
import type { DataConverter } from '@temporalio/common';
import { UserError } from '../lifecycle/user-error';

/**
 * What `openStore`, `createWorker`, `HoldfastPlugin` and `connect` take as `encryption`. Give all of them one with the same keys.
 */
export interface Encryption {
  /** Id of the key that encrypts from now on. */
  readonly keyId: string;
  /** For a `Client` or `Worker` of Temporal's own: the codec, and a failure converter that encodes messages and stacks. */
  readonly dataConverter: DataConverter;
  /** The 32 bytes of a key. Errors: an `EncryptionKeyError` that names the key and the remedy. @internal */
  readonly key: (keyId: string) => Promise<Buffer>;
}

/** Errors: `UserError` for what `createEncryption` has not made. */
export function checkedEncryption(where: string, given: Encryption): Encryption {
  const { keyId, dataConverter, key } = (given as Partial<Encryption> | null) ?? {};
  if (typeof keyId === 'string' && typeof dataConverter === 'object' && typeof key === 'function')
    return given;
  throw new UserError(
    `${where}: encryption is ${given === null ? 'null' : typeof given}: give what createEncryption({ keyId, keys }) returns.`,
  );
}
