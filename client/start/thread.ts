/** A conversation of many runs: each continues where the last one ended (ADR 0054). */
import type { AgentRequest, AgentType, OutputOf } from '../../workflows/core/typed-agent';
import { agentRunWorkflow } from '../../workflows/contract';
import { check, threadIdSchema } from '../check-input';
import { ClientError } from '../client-error';
import { describeWorkflow, workflowsOf } from '../known-to-server';
import type { RunAccess } from '../run-access';
import { attempt, attemptEach } from '../run-access';
import type { RunHandle } from '../run-handle';
import type { StartOptions } from './start-run';
import { checkStart, startOptionsOf } from './start-run';

/** What a thread needs of its client. */
export interface ThreadClient {
  readonly accessTo: (runId: string) => RunAccess;
  readonly run: (runId: string) => RunHandle;
  readonly start: (agent: AgentType | string, options: Options) => Promise<RunHandle<never>>;
}

type Options = Omit<StartOptions, 'agent' | 'output'>;

/** Listed runs that are looked at for the last one: it is the first of them, or a subagent of it is. */
const listed = 20;

/**
 * A conversation: run `<id>:1`, then `<id>:2`, each with the transcript of the one before.
 *
 * Contract: stateless. Temporal takes a run's id once, so of two starts at the same time one fails and nothing is continued twice.
 */
export class Thread {
  /** @internal */
  constructor(
    readonly id: string,
    private readonly client: ThreadClient,
  ) {
    check(threadIdSchema, id);
  }

  /** The last run of the thread; undefined before the first, or once the retention of all of them is over. */
  async last(): Promise<RunHandle | undefined> {
    const number = await this.lastNumber();
    return number === 0 ? undefined : this.client.run(this.runId(number));
  }

  /**
   * Starts the next run, which continues where the last one ended, however it ended; the first run begins the conversation.
   * Agent and options are those of `AgentClient.start`. The context is given each time, and never taken from an earlier run.
   *
   * Errors: `thread-busy` while a run of the thread is in progress, or where another start was faster; else as `AgentClient.start`.
   */
  start<Agent extends AgentType>(
    agent: Agent,
    options: Omit<AgentRequest<Agent>, 'goal' | 'message' | 'attachments'> &
      Pick<StartOptions, 'goal' | 'message' | 'taskQueue'>,
  ): Promise<RunHandle<OutputOf<Agent, 'output'>>>;
  start<Agent extends AgentType = AgentType>(
    agent: Agent['name'],
    options: Omit<AgentRequest<Agent>, 'goal' | 'message' | 'attachments'> &
      Pick<StartOptions, 'goal' | 'message' | 'taskQueue'>,
  ): Promise<RunHandle<OutputOf<Agent, 'input'>>>;
  async start(agent: AgentType | string, options: Options): Promise<RunHandle<never>> {
    this.checkOptions(agent, options);
    const last = await this.lastNumber();
    if (last > 0 && (await this.isRunning(last))) throw this.busy(last);
    const runId = this.runId(last + 1);
    try {
      return await this.startAfter(last, agent, { ...options, runId });
    } catch (thrown) {
      if (thrown instanceof ClientError && thrown.code === 'run-exists') throw this.busy(last + 1);
      throw thrown;
    }
  }

  /** Continues the newest run that has a transcript: one that failed before it began has none. */
  private async startAfter(
    last: number,
    agent: AgentType | string,
    options: Options,
  ): Promise<RunHandle<never>> {
    for (let number = last; number > 0; number -= 1) {
      try {
        return await this.client.start(agent, { ...options, continueFrom: this.runId(number) });
      } catch (thrown) {
        const code = thrown instanceof ClientError ? thrown.code : undefined;
        // Runs before one that is past its retention are, too.
        if (code === 'run-not-found') break;
        if (code !== 'no-transcript') throw thrown;
      }
    }
    return this.client.start(agent, options);
  }

  /** Before anything is asked. Errors: as `AgentClient.start`. */
  private checkOptions(agent: AgentType | string, options: Options): void {
    const start = startOptionsOf(agent, options);
    const own = (['runId', 'continueFrom', 'ifExists'] as const).find((key) => key in options);
    if (own !== undefined)
      throw new ClientError(
        'invalid-input',
        `Thread "${this.id}" decides about ${own} itself: leave it out, or use client.start. Nothing was started.`,
      );
    checkStart(start);
  }

  private runId(number: number): string {
    return `${this.id}:${number}`;
  }

  private busy(number: number): ClientError {
    const runId = this.runId(number);
    return new ClientError(
      'thread-busy',
      `Thread "${this.id}" has a run in progress: "${runId}". Wait for its result, or say it to that run: client.run("${runId}").addMessage(text). Nothing was started.`,
    );
  }

  /** The status of a run by its number; undefined if there is no such run. Asks the run itself, not the list, which may be late. */
  private async statusOf(number: number): Promise<string | undefined> {
    const runId = this.runId(number);
    const access = this.client.accessTo(runId);
    try {
      const { status } = await attempt(access, () => describeWorkflow(access.client, runId));
      return status.name;
    } catch (thrown) {
      if (thrown instanceof ClientError && thrown.code === 'run-not-found') return undefined;
      throw thrown;
    }
  }

  private async isRunning(number: number): Promise<boolean> {
    return (await this.statusOf(number)) === 'RUNNING';
  }

  /** The number of the last run, 0 if there is none: as listed, then one by one, since the list may be seconds late. */
  private async lastNumber(): Promise<number> {
    let number = await this.lastListed();
    while ((await this.statusOf(number + 1)) !== undefined) number += 1;
    return number;
  }

  private async lastListed(): Promise<number> {
    const query = `WorkflowType = '${agentRunWorkflow}' AND WorkflowId STARTS_WITH '${this.id}:' AND ExecutionStatus != 'ContinuedAsNew'`;
    const access = this.client.accessTo(this.runId(1));
    const runs = attemptEach(access, workflowsOf(access.client, query, listed));
    let [last, looked] = [0, 0];
    for await (const { workflowId } of runs) {
      // The rest of a subagent's id begins with "/".
      const given = /^(\d{1,9})(?:\/|$)/.exec(workflowId.slice(this.id.length + 1))?.[1];
      last = Math.max(last, Number(given ?? 0));
      looked += 1;
      if (looked >= listed) break;
    }
    return last;
  }
}
