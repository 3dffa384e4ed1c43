/** Holds runs inside a tool call, so that the memory of runs that a worker has cached can be measured. */
import { EventEmitter, once } from 'node:events';

/** Where runs are held, and how many stand there. */
export class Gate {
  private closedAt: number | undefined;
  private held = 0;
  private readonly events = new EventEmitter().setMaxListeners(0);

  /** Holds each run at its call `k` from now on. */
  close(k: number): void {
    this.closedAt = k;
  }

  /** Lets everyone through. */
  open(): void {
    this.closedAt = undefined;
    this.held = 0;
    this.events.emit('open');
  }

  /** The tool's way through: resolves at once, or when the gate opens. */
  async pass(k: number): Promise<void> {
    if (k !== this.closedAt) return;
    this.held += 1;
    this.events.emit('held');
    await once(this.events, 'open');
  }

  /** Resolves when so many runs are held. */
  async holds(count: number): Promise<void> {
    while (this.held < count) await once(this.events, 'held');
  }
}
