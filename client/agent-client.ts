/** Starts agent runs and finds them again: the client's front door. */
import type { KeyObject } from 'node:crypto';
import type {
  Client,
  ConnectionOptions,
  ScheduleHandle,
  ScheduleOptions,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { defaultTaskQueue } from '../workflows/contract';
import type { Content } from '../workflows/core/attachments';
import type { RunRequest } from '../workflows/core/run/ports';
import { approvalKeyFrom } from './approval-key';
import { check, personContentSchema, runIdSchema, storeSchema } from './check-input';
import { storedContent } from './start/content';
import type { RunSummary } from './list-runs';
import { listRuns } from './list-runs';
import { continuedStart, forkStart } from './start/fork-run';
import type { ClientEncryption, ClientStore, RunAccess } from './run-access';
import { ClientError } from './client-error';
import { attempt } from './run-access';
import { RunHandle } from './run-handle';
import type { AgentRequest, AgentType, OutputOf } from '../workflows/core/typed-agent';
import { checkSchedule, scheduleRuns } from './start/schedule-runs';
import type { AgentStart, StartOptions, StoredStart } from './start/start-run';
import { checkStart, startOptionsOf, startRun, storedStart } from './start/start-run';
import { Thread } from './start/thread';
import { KnownAgents } from './start/known-agents';
import { checkSdk } from './sdk-check';
import { asClientError } from './temporal-failure';

/** Where Temporal is, with which account to connect, and how the client works. */
export interface ConnectOptions {
  /** `host:port`. Default `localhost:7233`. */
  readonly address?: string;
  /** Default `default`. */
  readonly namespace?: string;
  readonly apiKey?: string;
  readonly tls?: ConnectionOptions['tls'];
  /** Headers of each request. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** From `createEncryption`, with the keys of the workers. It replaces `dataConverter`. */
  readonly encryption?: ClientEncryption;
  /** The same as the workers', where payloads are encoded. */
  readonly dataConverter?: DataConverter;
  /** Milliseconds that the server may take to answer. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Task queue of the workers. Default `holdfast`. */
  readonly taskQueue?: string;
  /** False for a namespace without Holdfast's search attributes; `list` then finds nothing by status or agent. Default true. */
  readonly searchAttributes?: boolean;
  /**
   * PEM text of an Ed25519 private key (`holdfast approval-key`): decisions on approvals are signed with it, for workers with
   * `approvers`. Keep it where no worker and no program of an agent can read it.
   */
  readonly approvalKey?: string;
  /**
   * The workers' store (`await openStore(url)`), for images and files, which never travel through Temporal, and for `events` with
   * `text`. Without it, only text can be sent. Whoever opened it closes it.
   */
  readonly store?: ClientStore;
}

/**
 * Starts runs and gives handles to them.
 *
 * Contract: cheap; it remembers only which agents workers said they have; created by `connect`, or from your own `Client` of `@temporalio/client`.
 * Errors: methods reject with a `ClientError`.
 */
export class AgentClient {
  private readonly approvalKey: KeyObject | undefined;
  private readonly knownAgents: KnownAgents;

  /** Errors: `invalid-input` for an approval key or a store that is none; `sdk-mismatch`. */
  constructor(
    private readonly client: Client,
    private readonly options: Pick<
      ConnectOptions,
      'address' | 'taskQueue' | 'searchAttributes' | 'approvalKey' | 'store'
    > = {},
  ) {
    this.knownAgents = new KnownAgents(client);
    const { approvalKey, store } = options;
    if (store !== undefined) check(storeSchema, store);
    this.approvalKey = approvalKey === undefined ? undefined : approvalKeyFrom(approvalKey);
    checkSdk((message) => new ClientError('sdk-mismatch', message));
  }

  /**
   * Starts a run of an agent: of its definition, which types and checks context and output; by name with the definition's type,
   * `start<typeof supportAgent>('support', { … })`, where its code is not to be loaded; or by name alone.
   *
   * Errors: before anything is started `invalid-input`, and `agent-unknown` where a worker can be asked; `run-exists`; `setup-needed`; `unreachable`.
   */
  start<Agent extends AgentType>(
    agent: Agent,
    options: AgentStart<Agent>,
  ): Promise<RunHandle<OutputOf<Agent, 'output'>>>;
  start<Agent extends AgentType = AgentType>(
    agent: Agent['name'],
    options: AgentStart<Agent>,
  ): Promise<RunHandle<OutputOf<Agent, 'input'>>>;
  start(options: StartOptions<never> & { readonly output?: never }): Promise<RunHandle>;
  start<Output>(options: StartOptions<Output>): Promise<RunHandle<Output>>;
  async start<Output>(
    first: AgentType | string | StartOptions<Output>,
    second?: Omit<StartOptions<Output>, 'agent' | 'output'>,
  ): Promise<RunHandle<Output>> {
    return this.explaining(async () => {
      const options =
        typeof first === 'object' && 'agent' in first
          ? first
          : startOptionsOf<Output>(first, { goal: '', ...second });
      const { continueFrom, output } = options;
      const stored = await this.checkedAndStored(options);
      const earlier = continueFrom === undefined ? undefined : this.accessTo(continueFrom);
      const start: StoredStart =
        earlier === undefined
          ? stored
          : await attempt(earlier, () => continuedStart(earlier, stored));
      const runId = await startRun(this.client.workflow, start, this.options);
      return new RunHandle<Output>(this.accessTo(runId), output);
    });
  }

  /**
   * Starts a new run whose transcript begins with that of `runId` after an iteration; that run is not changed, and may be
   * running or finished. A `message` or a new `goal` is said to the model.
   *
   * Errors: as `start`; `invalid-input` for an iteration that the run has not reached.
   */
  fork(
    runId: string,
    iteration: number,
    options: Partial<
      Omit<StartOptions, 'head' | 'storeId' | 'continueFrom' | 'output' | 'ifExists'>
    > = {},
  ): Promise<RunHandle> {
    return this.explaining(async () => {
      const access = this.accessTo(runId);
      const stored = await storedStart(this.options.store, options);
      const start = await attempt(access, () => forkStart(access, iteration, stored));
      return this.run(await startRun(this.client.workflow, start, this.options));
    });
  }

  /**
   * Starts runs of an agent on a schedule: agent and options are those of `start`, the schedule is Temporal's, without an action.
   * The handle is Temporal's: trigger, pause, update, delete. A run's id is `<scheduleId>-<time>`; `list({ scheduleId })` finds them.
   *
   * Errors: before anything is made, as `start`; `schedule-exists`.
   */
  schedule<Agent extends AgentType>(
    agent: Agent,
    options: AgentRequest<Agent> & Pick<StartOptions, 'taskQueue'>,
    schedule: Omit<ScheduleOptions, 'action'>,
  ): Promise<ScheduleHandle>;
  schedule<Agent extends AgentType = AgentType>(
    // eslint-disable-next-line @typescript-eslint/unified-signatures -- of a union, TypeScript would take a name for the agent itself.
    agent: Agent['name'],
    options: AgentRequest<Agent> & Pick<StartOptions, 'taskQueue'>,
    schedule: Omit<ScheduleOptions, 'action'>,
  ): Promise<ScheduleHandle>;
  async schedule(
    agent: AgentType | string,
    options: Omit<StartOptions<never>, 'agent' | 'output'>,
    schedule: Omit<ScheduleOptions, 'action'>,
  ): Promise<ScheduleHandle> {
    return this.explaining(async () => {
      const start = startOptionsOf(agent, options);
      checkSchedule(start, schedule);
      const stored = await this.checkedAndStored(start);
      return scheduleRuns(this.client.schedule, stored, schedule, this.options);
    });
  }

  /**
   * The conversation with this id: each of its runs continues where the last one ended. The id decides which conversation is read:
   * derive it from who was authenticated.
   *
   * Errors: `invalid-input` for an id that is none.
   */
  thread(threadId: string): Thread {
    return new Thread(threadId, {
      accessTo: (runId) => this.accessTo(runId),
      run: (runId) => this.run(runId),
      start: (agent, options) => this.start<never>(startOptionsOf<never>(agent, options)),
    });
  }

  /**
   * Stores images and files for a run that workflow code starts: `runAgent('support', await client.upload([…]))`. Methods of the
   * client that take content do it themselves.
   *
   * Errors: `invalid-input`; `unreachable` for a store that is down.
   */
  async upload(content: Content): Promise<Pick<RunRequest, 'goal' | 'attachments'>> {
    check(personContentSchema, content);
    const { text: goal, ...media } = await storedContent(
      this.options.store,
      content,
      'Nothing was stored.',
    );
    return { goal, ...media };
  }

  /** A handle to the run with this id; asks nothing yet. */
  run(runId: string): RunHandle {
    return new RunHandle(this.accessTo(runId));
  }

  /** Runs by status, agent and schedule: those in progress, newest first, then those that ended last. */
  list(
    options: Partial<Pick<RunSummary, 'status' | 'agent'>> & {
      readonly scheduleId?: string;
      readonly limit?: number;
    } = {},
  ): Promise<readonly RunSummary[]> {
    return this.explaining(() => listRuns(this.client.workflow, options));
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    await this.client.connection.close();
  }

  /** The start, checked, with its images and files stored. Errors: as `start`, before anything is started. */
  private async checkedAndStored(start: StartOptions): Promise<StoredStart> {
    checkStart(start);
    const { agent, taskQueue = this.options.taskQueue ?? defaultTaskQueue } = start;
    await this.knownAgents.check(taskQueue, agent);
    return { goal: '', ...(await storedStart(this.options.store, start)), agent };
  }

  private get address(): string {
    return this.options.address ?? 'its address';
  }

  private accessTo(runId: string): RunAccess {
    const { client, address, approvalKey } = this;
    const { store } = this.options;
    const known = check(runIdSchema, runId);
    return { client: client.workflow, address, runId: known, approvalKey, store };
  }

  private async explaining<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (thrown) {
      const { namespace } = this.client.options;
      throw asClientError(thrown, { address: this.address, namespace });
    }
  }
}
