/** The vendor's seal on its own reasoning: made and checked by emulators of one vendor name, in any process. */
import { createHash } from 'node:crypto';

/** Marks sealed content, as Fernet tokens do on OpenAI's wire. */
const mark = 'gAAAA';

/** Seals of one vendor. */
export class Seal {
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  /** Signature of a text that travels in clear beside it. */
  sign(text: string): string {
    return createHash('sha256').update(`${this.#key}:${text}`).digest('base64');
  }

  /** True if this vendor signed this text. */
  isSigned(text: string, signature: string): boolean {
    return this.sign(text) === signature;
  }

  /** Sealed content that carries its own subject. */
  seal(subject: string): string {
    const carried = Buffer.from(subject).toString('base64url');
    return `${mark}${carried}.${this.sign(subject)}`;
  }

  /** True if this vendor sealed the content, for that subject if one is given. */
  isSealed(content: string, subject?: string): boolean {
    if (!content.startsWith(mark)) return false;
    const [carried = '', signature = ''] = content.slice(mark.length).split('.');
    const sealed = Buffer.from(carried, 'base64url').toString();
    return this.isSigned(sealed, signature) && (subject ?? sealed) === sealed;
  }
}
