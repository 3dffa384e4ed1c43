/** The keys of an encryption: found by their ids, in a list or at a key management service. */
import { rememberSecret } from '../untrusted/known-secrets';

/** Bytes of a key of AES-256. */
export const keyBytes = 32;

/** Keys that are kept in memory at once; a deployment has one or two. */
const mostKeys = 100;

/** Finds the 32 bytes of a key: the hook for a key management service. It is asked once per key and process. */
export type KeyResolver = (keyId: string) => Uint8Array | Promise<Uint8Array>;

/**
 * A key is unknown, has another value than the one that encrypted, or cannot be had now. Not a reason to end a run: another
 * worker may have the key, and this one gets it when it is configured.
 */
export class EncryptionKeyError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'EncryptionKeyError';
  }
}

/** The bytes of a key in base64 or hexadecimal digits; undefined for another text. */
export function keyFromText(text: string): Buffer | undefined {
  const isHex = /^[0-9a-f]{64}$/i.test(text);
  if (!isHex && !/^[\w+/-]{43}=?$/.test(text)) return undefined;
  return Buffer.from(text, isHex ? 'hex' : 'base64');
}

/** Resolves keys, each once. Errors: `EncryptionKeyError` that names the key. */
export class KeyRing {
  readonly #known = new Map<string, Promise<Buffer>>();

  constructor(private readonly resolve: KeyResolver) {}

  /** A failure is not kept: the next call asks again. */
  key(keyId: string): Promise<Buffer> {
    const known = this.#known.get(keyId);
    if (known !== undefined) return known;
    if (this.#known.size >= mostKeys) this.#known.clear();
    const asked = this.#ask(keyId);
    this.#known.set(keyId, asked);
    asked.catch(() => this.#known.delete(keyId));
    return asked;
  }

  async #ask(keyId: string): Promise<Buffer> {
    const found: unknown = await Promise.resolve(keyId)
      .then(this.resolve)
      .catch((thrown: unknown) => {
        if (thrown instanceof EncryptionKeyError) throw thrown;
        const reason = thrown instanceof Error ? thrown.message : String(thrown);
        throw new EncryptionKeyError(
          `Encryption key "${keyId}" could not be had: ${reason}. Check the function \`keys\` of createEncryption and the service that it asks.`,
          { cause: thrown },
        );
      });
    if (!(found instanceof Uint8Array) || found.length !== keyBytes) {
      const what = found instanceof Uint8Array ? `${found.length} bytes` : typeof found;
      throw new EncryptionKeyError(
        `The function \`keys\` of createEncryption gave ${what} for encryption key "${keyId}". Return ${keyBytes} bytes.`,
      );
    }
    const key = Buffer.from(found);
    rememberSecret(key.toString('base64'));
    return key;
  }
}
