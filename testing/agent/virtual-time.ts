/** Lets the server's time pass while nothing happens, and not while a person is waited for. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestWorkflowEnvironment } from '@temporalio/testing';

/** Milliseconds of the server's time that pass at once: less than any wait, so that one which begins meanwhile loses nothing. */
export const shortStepMs = 1_000;
/** Milliseconds while the run waits for a timer of its own: cooldowns last minutes. */
export const longStepMs = 30_000;
/** Real milliseconds between two looks. */
const lookMs = 20;

/** The server's time, which stands still until `pass`. The server itself lets no time pass while an activity runs. */
export class VirtualTime {
  #stepMs = 0;
  #isOver = false;
  readonly #skipping: Promise<void>;

  constructor(private readonly server: Pick<TestWorkflowEnvironment, 'sleep'>) {
    this.#skipping = this.#skip();
  }

  /** From now on, time passes in steps of so many milliseconds; 0: it stands still. */
  pass(stepMs: number): void {
    this.#stepMs = stepMs;
  }

  /** Resolves when nothing more is asked of the server. */
  end(): Promise<void> {
    this.#isOver = true;
    return this.#skipping;
  }

  async #skip(): Promise<void> {
    while (!this.#isOver) {
      // A server that has gone is found by whoever asks it for more.
      if (this.#stepMs > 0) await this.server.sleep(this.#stepMs).catch(() => undefined);
      await delay(lookMs);
    }
  }
}
