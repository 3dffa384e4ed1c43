/** AES-256 in Galois/Counter Mode: what is sealed is unreadable without the key, and a changed byte is found. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
/** Bytes of the random start value and of the tag. Source: NIST SP 800-38D. */
const [startBytes, tagBytes] = [12, 16];

/** Start value, encrypted bytes, tag. `label` is not in it, and must be given again to open it. */
export function seal(key: Uint8Array, label: string, plain: Uint8Array): Buffer {
  const start = randomBytes(startBytes);
  const cipher = createCipheriv(algorithm, key, start).setAAD(Buffer.from(label));
  return Buffer.concat([start, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** The plain bytes; undefined if the key, the label, or a byte is another one. */
export function unseal(key: Uint8Array, label: string, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < startBytes + tagBytes) return undefined;
  const end = sealed.length - tagBytes;
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, startBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(end));
  const plain = decipher.update(sealed.subarray(startBytes, end));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    return undefined;
  }
}
