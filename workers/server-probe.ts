/** Asks a Temporal server whether it serves a namespace. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionOptions } from '@temporalio/client';
import { Connection } from '@temporalio/client';
import { reasonOf } from './setup-error';

/** A server to ask, and as whom. */
export interface ProbeTarget {
  readonly address: string;
  readonly namespace: string;
  readonly connection?: Pick<ConnectionOptions, 'apiKey' | 'tls'>;
}

/** What the server said. */
export type ProbeResult =
  | { readonly type: 'serving' }
  | { readonly type: 'unreachable'; readonly reason: string }
  | { readonly type: 'refused'; readonly reason: string };

const pollMs = 50;
/** gRPC's own first back-off is 1 s; a local server answers in milliseconds. */
const connectTimeoutMs = 2_000;

/** Asks once: connects, then describes the namespace. Never rejects; takes at most twice `timeoutMs`. */
export async function probeServer(target: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
  let connection: Connection;
  try {
    connection = await Connection.connect({
      ...target.connection,
      address: target.address,
      connectTimeout: timeoutMs,
    });
  } catch (thrown) {
    return { type: 'unreachable', reason: reasonOf(thrown) };
  }
  try {
    await connection.withDeadline(Date.now() + timeoutMs, () =>
      connection.workflowService.describeNamespace({ namespace: target.namespace }),
    );
    return { type: 'serving' };
  } catch (thrown) {
    return { type: 'refused', reason: reasonOf(thrown) };
  } finally {
    await connection.close();
  }
}

/**
 * Asks until the server serves the namespace, `giveUp` says a reason to stop, or the deadline passes.
 *
 * Returns undefined when it serves, else the last reason.
 */
export async function waitUntilServing(
  target: ProbeTarget,
  deadlineAtMs: number,
  giveUp: () => string | undefined = () => undefined,
): Promise<string | undefined> {
  for (;;) {
    const result = await probeServer(target, connectTimeoutMs);
    if (result.type === 'serving') return undefined;
    const stop = giveUp();
    if (stop !== undefined) return stop;
    if (Date.now() >= deadlineAtMs) return result.reason;
    await delay(pollMs);
  }
}
