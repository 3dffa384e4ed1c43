/** Encrypts the payloads that go through Temporal. What was written before encryption, or by others, stays readable. */
import type { Payload, PayloadCodec } from '@temporalio/common';
import { EncryptionKeyError, type KeyRing } from './key-ring';
import { seal, unseal } from './seal';

/** The encoding and the names of metadata that Temporal's own samples of encryption use. */
const encoding = 'binary/encrypted';
const keyIdName = 'encryption-key-id';

const textIn = ({ metadata }: Payload, name: string): string =>
  Buffer.from(metadata?.[name] ?? []).toString();

/** Length of the metadata as 4 bytes, the metadata as JSON in base64, the data. */
function bytesOf({ metadata = {}, data }: Payload): Buffer {
  const named = Object.entries(metadata ?? {}).map(([name, value]) => [
    name,
    Buffer.from(value).toString('base64'),
  ]);
  const head = Buffer.from(JSON.stringify(named));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, data ?? Buffer.alloc(0)]);
}

function payloadFrom(bytes: Buffer): Payload {
  const end = 4 + bytes.readUInt32BE(0);
  const named = JSON.parse(bytes.toString('utf8', 4, end)) as readonly [string, string][];
  const metadata = Object.fromEntries(
    named.map(([name, value]) => [name, Buffer.from(value, 'base64')]),
  );
  return { metadata, data: bytes.subarray(end) };
}

/**
 * The codec of an encryption: encrypts with the key `keyId`, and decrypts with the key that a payload names.
 *
 * Errors: `EncryptionKeyError`, which the SDK makes a failed task or attempt of: both are tried again.
 */
export function payloadCodec(keyId: string, ring: KeyRing): PayloadCodec {
  return {
    async encode(payloads) {
      const key = await ring.key(keyId);
      const metadata = { encoding: Buffer.from(encoding), [keyIdName]: Buffer.from(keyId) };
      return payloads.map((payload) => ({ metadata, data: seal(key, keyId, bytesOf(payload)) }));
    },
    decode: (payloads) =>
      Promise.all(
        payloads.map(async (payload) => {
          if (textIn(payload, 'encoding') !== encoding) return payload;
          const used = textIn(payload, keyIdName);
          const bytes = unseal(await ring.key(used), used, payload.data ?? Buffer.alloc(0));
          if (bytes !== undefined) return payloadFrom(bytes);
          throw new EncryptionKeyError(
            `A payload that encryption key "${used}" is said to have encrypted cannot be decrypted with it: the key has another value here, or the payload was changed. Give every worker, client and command the same key "${used}" (for commands: HOLDFAST_ENCRYPTION_KEYS).`,
          );
        }),
      ),
  };
}
