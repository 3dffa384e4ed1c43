/** Repeatable chance. */
import { createHash } from 'node:crypto';

/** A sequence that a seed decides. */
export class Dice {
  #count = 0;

  constructor(private readonly seed: string) {}

  /** So many hexadecimal digits, at most 64. */
  hex(digits: number): string {
    this.#count += 1;
    return createHash('sha256')
      .update(`${this.seed}:${this.#count}`)
      .digest('hex')
      .slice(0, digits);
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor((Number.parseInt(this.hex(12), 16) / 0x1000000000000) * limit);
  }

  /** One of several. */
  pick<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new Error('There is nothing to pick from.');
    return value;
  }
}
