/** The event streams and waits that a gateway holds open: how many, and how they learn that it ends. */
import { HttpProblem } from '../http/problem';
import type { GatewayLimits } from '../ports';

/** Bounds and ends them. */
export class OpenStreams {
  private readonly drain = new AbortController();
  private readonly byToken = new Map<string, number>();
  private open = 0;

  constructor(private readonly limits: Pick<GatewayLimits, 'streams' | 'streamsPerToken'>) {}

  /** Aborted when the gateway ends: whoever waits says so and leaves. */
  get draining(): AbortSignal {
    return this.drain.signal;
  }

  /** Takes a place, which the function that it returns gives back. Errors: `too-many-streams`. */
  enter(token: string): () => void {
    const own = this.byToken.get(token) ?? 0;
    const { streams, streamsPerToken } = this.limits;
    if (own >= streamsPerToken || this.open >= streams)
      throw new HttpProblem(
        429,
        'too-many-streams',
        own >= streamsPerToken
          ? `The token "${token}" holds ${own} streams and waits open, as many as it may. Close one, or try again.`
          : 'This gateway holds as many streams open as it may. Try again in a moment.',
        { 'retry-after': '5' },
      );
    this.open += 1;
    this.byToken.set(token, own + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.open -= 1;
      const rest = (this.byToken.get(token) ?? 1) - 1;
      if (rest === 0) this.byToken.delete(token);
      else this.byToken.set(token, rest);
    };
  }

  /** Ends all of them, each in its own way. */
  end(): void {
    this.drain.abort();
  }
}
