/** Asks a worker which agents it has, so that a start of an unknown agent is refused before a run exists (ADR 0054). */
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { ActivityExecutionFailedError, ServiceError } from '@temporalio/client';
import type { Activities } from '../../workflows/core/activities';
import { shortened } from '../../workflows/core/shortened';
import { ClientError, reasonOf } from '../client-error';

/** Milliseconds that a worker may take to answer; its start waits that long at most. */
const answerMs = 2_000;
/** Milliseconds for which a queue without an answer is not asked again: no worker, an older one, or a server without the feature. */
const silenceMs = 60_000;
/** Task queues that are remembered. */
const mostQueues = 100;

interface Answer {
  /** Absent: nobody answered. */
  readonly names?: readonly string[];
  readonly atMs: number;
}

/** What workers said of their agents, by task queue. Only a name that they said is remembered for good. */
export class KnownAgents {
  private readonly answers = new Map<string, Answer>();

  constructor(private readonly client: Client) {}

  /**
   * Refuses an agent that the workers of a task queue do not have. Where no worker can be asked, the run itself finds out.
   *
   * Errors: `agent-unknown`; `converter-mismatch` if worker and client cannot read each other.
   */
  async check(taskQueue: string, agent: string): Promise<void> {
    const known = this.answers.get(taskQueue);
    if (known?.names?.includes(agent) === true) return;
    if (known !== undefined && known.names === undefined && Date.now() - known.atMs < silenceMs)
      return;
    const names = await this.ask(taskQueue);
    if (this.answers.size >= mostQueues) this.answers.clear();
    this.answers.set(taskQueue, { atMs: Date.now(), ...(names === undefined ? {} : { names }) });
    if (names === undefined || names.includes(agent)) return;
    const listed = shortened(names.join(', '), 400) || 'none';
    throw new ClientError(
      'agent-unknown',
      `No agent is called ${JSON.stringify(agent)}; the worker that answered on task queue "${taskQueue}" has ${listed}. Give one of these, or deploy a worker that has the agent. Nothing was started.`,
    );
  }

  private async ask(taskQueue: string): Promise<readonly string[] | undefined> {
    const { connection, workflowService, activity, options } = this.client;
    try {
      return await connection.withDeadline(Date.now() + answerMs, async () => {
        const { pollers } = await workflowService.describeTaskQueue({
          namespace: options.namespace,
          taskQueue: { name: taskQueue },
        });
        if (pollers.length === 0) return undefined;
        const name: keyof Activities = 'agentNames';
        return activity.execute<readonly string[]>(name, {
          id: `holdfast-agent-names-${randomUUID()}`,
          taskQueue,
          // What the worker cannot read shows another data converter, as an answer does that this client cannot read.
          args: [null],
          scheduleToCloseTimeout: answerMs,
          retry: { maximumAttempts: 1 },
        });
      });
    } catch (thrown) {
      const unread = whatWasUnread(thrown);
      if (unread === undefined) return undefined;
      throw new ClientError(
        'converter-mismatch',
        `The worker that answered on task queue "${taskQueue}" has another data converter than this client: ${unread}. Give createWorker() and connect() the same encryption or dataConverter (for commands: HOLDFAST_ENCRYPTION_KEYS or HOLDFAST_DATA_CONVERTER). Nothing was started.`,
        { cause: thrown },
      );
    }
  }
}

/**
 * What one side could not read of the other's payloads; undefined if that was not the fault.
 *
 * Source: SDK 1.24, whose client names no cause where it cannot decode a result.
 */
function whatWasUnread(thrown: unknown): string | undefined {
  if (thrown instanceof ActivityExecutionFailedError) {
    const said = reasonOf(thrown.cause);
    return said.startsWith('Failed to parse activity args') ? `it says "${said}"` : undefined;
  }
  return thrown instanceof ServiceError && thrown.cause === undefined
    ? 'its answer cannot be read here'
    : undefined;
}
