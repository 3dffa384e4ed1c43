/** Keeps a program's output: its beginning up to a limit, and always the end of it. */

/** Bytes of the end that are kept if the output is longer than the limit. */
const tailBytes = 64 * 1024;

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

  /** The kept output, with a note of what was dropped. */
  text(): string {
    const kept = this.#kept.toString('utf8', 0, this.#keptBytes);
    const beyond = this.#totalBytes - this.#keptBytes;
    if (beyond === 0) return kept;
    const end = this.#tail.subarray(-Math.min(beyond, tailBytes));
    const lost = beyond - end.length;
    return `${kept}\n[… ${lost} bytes left out: more than ${this.limitBytes} bytes …]\n${end.toString('utf8')}`;
  }

  /** The end, for people and for errors. */
  tail(chars: number): string {
    return this.#tail.toString('utf8').slice(-chars);
  }
}
