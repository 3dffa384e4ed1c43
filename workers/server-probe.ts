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

/** Why a server does not serve. */
export interface ProbeProblem {
  /** `refused`: it answers, but not for this namespace or caller. `ended`: the caller gave up. */
  readonly type: 'unreachable' | 'refused' | 'ended';
  readonly reason: string;
}

const pollMs = 50;
/** gRPC's own first back-off is 1 s; a local server answers in milliseconds. */
const connectTimeoutMs = 2_000;

/** Asks once: connects, then describes the namespace. Returns undefined if it serves; takes at most twice `timeoutMs`. */
async function probeServer(
  target: ProbeTarget,
  timeoutMs: number,
): Promise<ProbeProblem | undefined> {
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
    return undefined;
  } catch (thrown) {
    return { type: 'refused', reason: reasonOf(thrown) };
  } finally {
    await connection.close();
  }
}

/**
 * Asks until the server serves the namespace, `giveUp` says a reason to stop, or the deadline passes.
 *
 * Returns undefined when it serves, else the last problem.
 */
export async function waitUntilServing(
  target: ProbeTarget,
  deadlineAtMs: number,
  giveUp: () => string | undefined = () => undefined,
): Promise<ProbeProblem | undefined> {
  for (;;) {
    const problem = await probeServer(target, connectTimeoutMs);
    if (problem === undefined) return undefined;
    const reason = giveUp();
    if (reason !== undefined) return { type: 'ended', reason };
    if (Date.now() >= deadlineAtMs) return problem;
    await delay(pollMs);
  }
}
