/** Starts agent runs and finds them again: the client's front door. */
import type { KeyObject } from 'node:crypto';
import type { Client, ScheduleHandle, ScheduleOptions } from '@temporalio/client';
import { defaultTaskQueue } from '../workflows/contract';
import type { Content } from '../workflows/core/attachments';
import type { RunRequest } from '../workflows/core/run/ports';
import { approvalKeyFrom } from './approval-key';
import { check, forkSchema, personContentSchema, runIdSchema } from './check-input';
import type { ConnectOptions } from './connect-options';
import { checkClient, checkConnectOptions } from './connect-options';
import { storedContent } from './start/content';
import type { ListOptions, RunPage, RunSummary } from './list-runs';
import { listPage, listRuns } from './list-runs';
import { continuedStart, forkStart } from './start/fork-run';
import type { RunAccess } from './run-access';
import { ClientError } from './client-error';
import { attempt } from './run-access';
import { RunHandle } from './run-handle';
import type { AgentRequest, AgentType, OutputOf } from '../workflows/core/typed-agent';
import { checkSchedule, scheduleRuns } from './start/schedule-runs';
import type { AgentStart, StartOptions, StoredStart } from './start/start-run';
import { checkStart, namesAgent, startOptionsOf, startRun, storedStart } from './start/start-run';
import { Thread } from './start/thread';
import { KnownAgents } from './start/known-agents';
import { checkSdk } from './sdk-check';
import { asClientError } from './temporal-failure';

/**
 * Starts runs and gives handles to them.
 *
 * Contract: cheap; it remembers only which agents workers said they have; created by `connect`, or from your own `Client` of `@temporalio/client`.
 * Errors: methods reject with a `ClientError`.
 */
export class AgentClient {
  private readonly approvalKey: KeyObject | undefined;
  private readonly knownAgents: KnownAgents;

  /** Errors: `invalid-input` for a client or an option that is none; `sdk-mismatch`. */
  constructor(
    private readonly client: Client,
    private readonly options: Pick<
      ConnectOptions,
      'address' | 'taskQueue' | 'searchAttributes' | 'approvalKey' | 'store'
    > = {},
  ) {
    // First: a client of another copy of the SDK is none that this one knows.
    checkSdk((message) => new ClientError('sdk-mismatch', message));
    checkClient(client);
    checkConnectOptions(options);
    this.knownAgents = new KnownAgents(client);
    const { approvalKey } = options;
    this.approvalKey = approvalKey === undefined ? undefined : approvalKeyFrom(approvalKey);
  }

  /**
   * Starts a run of an agent: of its definition, which types and checks context and output; by name with the definition's type,
   * `start<typeof supportAgent>('support', { … })`, where its code is not to be loaded; or by name alone.
   *
   * Errors: before anything is started `invalid-input`, and `agent-unknown` where a worker can be asked; `run-exists`; `key-reused`; `setup-needed`; `unreachable`.
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
      const options = namesAgent(first) ? first : startOptionsOf<Output>(first, second);
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
      check(forkSchema, options, 'Nothing was started.');
      const stored = await storedStart(this.options.store, options, { runId, iteration });
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
   * Errors: `invalid-input` for an id that cannot be one.
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

  /** Runs by status, agent, tenant and schedule: those in progress, newest first, then those that ended last. */
  list(
    options: Partial<Pick<RunSummary, 'status' | 'agent' | 'tenant'>> & {
      readonly scheduleId?: string;
      readonly limit?: number;
    } = {},
  ): Promise<readonly RunSummary[]> {
    return this.explaining(() => listRuns(this.client.workflow, options));
  }

  /** As `list`, page by page, for lists of any length. @internal */
  page(options: ListOptions & { readonly cursor?: string } = {}): Promise<RunPage> {
    return this.explaining(() => listPage(this.client.workflow, options));
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
