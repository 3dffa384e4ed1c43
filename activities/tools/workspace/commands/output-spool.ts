/** Keeps a program's output: its beginning up to a limit, and always the end of it. */
import { decodeLike, decodeOutput } from '../../../untrusted/decode-text';
import { foldRedraws, withoutRedraws } from '../../../untrusted/redraws';
import { sanitizeText, withoutFirstLine, withoutLastLine } from '../../../untrusted/sanitizer';

/** Bytes of the end that are kept if the output is longer than the limit. */
const tailBytes = 64 * 1024;

/** Bytes in front of what is shown of the end that are sanitized with it. */
const marginBytes = 4_096;

/** Output of a program that is still running. */
export class OutputSpool {
  /** The system gives it memory when it is written to. */
  readonly #kept: Buffer;
  #keptBytes = 0;
  #totalBytes = 0;
  #tail = Buffer.alloc(0);

  constructor(readonly limitBytes: number) {
    this.#kept = Buffer.alloc(limitBytes);
  }

  write(bytes: Buffer): void {
    this.#keptBytes += bytes.copy(this.#kept, this.#keptBytes);
    this.#totalBytes += bytes.length;
    this.#tail = Buffer.concat([this.#tail, bytes.subarray(-tailBytes)]).subarray(-tailBytes);
  }

  /** The kept output as a terminal shows it, with a note of what was dropped. */
  text(): Promise<string> {
    return foldRedraws(this.#text());
  }

  #text(): string {
    const kept = this.#kept.subarray(0, this.#keptBytes);
    const beyond = this.#totalBytes - this.#keptBytes;
    const end = this.#tail.subarray(this.#tail.length - Math.min(beyond, tailBytes));
    const lost = beyond - end.length;
    if (lost === 0) return decodeOutput(Buffer.concat([kept, end]));
    const note = `[… ${lost} bytes left out: more than ${this.limitBytes} bytes …]`;
    const last = decodeLike(kept, end, this.#totalBytes - end.length);
    // The halves of a line that is cut in two could be those of a secret.
    return `${withoutLastLine(decodeOutput(kept))}\n${note}\n${withoutFirstLine(last)}`;
  }

  /** The end, for people and for errors: sanitized, then cut. */
  tail(chars: number): string {
    const bytes = this.#tail.subarray(-(chars + marginBytes));
    const first = this.#kept.subarray(0, this.#keptBytes);
    const end = withoutRedraws(decodeLike(first, bytes, this.#totalBytes - bytes.length));
    const clean = sanitizeText(end, { maxChars: end.length });
    return clean.length <= chars ? clean : `…${clean.slice(-chars)}`;
  }
}
