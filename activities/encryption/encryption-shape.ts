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

/** The encryption of the store that activities use. */
const ofActivities = new WeakMap<object, Encryption | undefined>();

/** Notes it, for whoever makes a worker of them. */
export function noteEncryption(activities: object, encryption: Encryption | undefined): void {
  ofActivities.set(activities, encryption);
}

/**
 * What is wrong with a worker that has these activities; undefined if nothing is. Nobody knows where the activities are not what
 * `createActivities` returned.
 */
export function encryptionProblem(
  activities: object,
  {
    encryption,
    dataConverter,
  }: { readonly encryption?: unknown; readonly dataConverter?: unknown },
): string | undefined {
  if (encryption !== undefined && dataConverter !== undefined)
    return 'is given beside dataConverter, which it replaces: give one of the two. A converter of your own can be { ...encryption.dataConverter, payloadConverterPath }';
  if (!ofActivities.has(activities)) return undefined;
  const stored = ofActivities.get(activities);
  if (encryption !== undefined && stored !== encryption)
    return stored === undefined
      ? 'is given, but the store of the activities is not encrypted: open it with openStore(url, { encryption })'
      : 'is another one than that of the store of the activities: give both the same';
  if (stored !== undefined && encryption === undefined && dataConverter === undefined)
    return 'is missing, but the store of the activities is encrypted: give the same encryption here, or history would be readable';
  return undefined;
}

/** Errors: `UserError` for what `createEncryption` has not made. */
export function checkedEncryption(where: string, given: unknown): Encryption {
  const { keyId, dataConverter, key } = (given ?? {}) as Partial<Encryption>;
  if (typeof keyId === 'string' && typeof dataConverter === 'object' && typeof key === 'function')
    return given as Encryption;
  throw new UserError(
    `${where}: encryption is ${given === null ? 'null' : typeof given}: give what createEncryption({ keyId, keys }) returns.`,
  );
}
