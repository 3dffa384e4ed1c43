/** An agent under test: its real code on Temporal's test server, with an emulated model. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import type { ActivitiesConfig } from '../../activities/definitions/activities-config';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { checkAgentShape } from '../../activities/definitions/checks/check-definition';
import { createActivities } from '../../activities/index';
import { checkOptions } from '../../activities/lifecycle/check-options';
import { UserError } from '../../activities/lifecycle/user-error';
import { openStore } from '../../activities/stores/open-store';
import type { Store } from '../../activities/stores/store';
import { AgentClient } from '../../client/agent-client';
import type { RunEntry } from '../../client/history/fold';
import type { RunHandle } from '../../client/run-handle';
import type { AgentStart } from '../../client/start/start-run';
import { readEnvironment } from '../../workers/env';
import { installRuntime } from '../../workers/logging';
import { createWorker } from '../../workers/worker';
import { defined } from '../../workflows/core/json';
import type { AgentType, OutputOf, RunResult } from '../../workflows/core/typed-agent';
import { shownValue } from '../emulator/check-script';
import { VendorEmulator } from '../emulator/emulator';
import type { Prompt, RecordedRequest } from '../emulator/recorded-request';
import { unplannedProblem } from '../emulator/recorded-request';
import type { Step } from '../emulator/script';
import type { ScriptRule } from '../emulator/script-queue';
import type { WiresByProvider } from './emulated-providers';
import { checkWires, emulatedProviders, playedServers } from './emulated-providers';
import { failingTools, withFailingTools } from './failing-tools';
import { followRun } from './follow-run';
import { startTestServer } from './test-server';
import type { TestStep } from './test-script';
import { TestScript } from './test-script';

/** What a test agent needs beside the agent. */
export interface TestAgentOptions extends Partial<
  Pick<ActivitiesConfig, 'prices' | 'windows' | 'notifiers'>
> {
  /** Further agents of the worker: those that the agent calls, or hands over to. */
  readonly agents?: readonly AgentDefinition[];
  /** The API of each provider that has a name of your own: `{ 'azure-eu': 'chat' }`. */
  readonly wires?: WiresByProvider;
}

/** A run that followed its script to its end. */
export interface TestRun<Output> {
  readonly runId: string;
  readonly result: RunResult<Output>;
  /** What each request told the model, in order of arrival. */
  readonly prompts: readonly Prompt[];
  /** The run's timeline. */
  readonly events: readonly RunEntry[];
}

const options = z.strictObject({
  agents: z.array(z.unknown(), { error: 'give an array of agents' }).optional(),
  wires: z
    .record(z.string(), z.enum(['anthropic', 'responses', 'chat']), {
      error: "give { name: 'anthropic' | 'responses' | 'chat' }",
    })
    .optional(),
  prices: z.unknown().optional(),
  windows: z.unknown().optional(),
  notifiers: z.unknown().optional(),
});

/** Milliseconds that calls in flight get at the end: nobody waits for them. */
const closeGraceMs = 100;

/** The run in progress. */
interface Played {
  script?: TestScript;
  run?: Promise<RunHandle>;
}

/** What a test agent is made of. */
interface Parts {
  readonly agents: readonly AgentDefinition[];
  readonly emulator: VendorEmulator;
  readonly server: TestWorkflowEnvironment;
  readonly client: AgentClient;
  readonly temporalClient: Client;
  readonly store: Store;
  /** Ends everything that was started, the last first. */
  readonly end: () => Promise<void>;
}

/** An agent under test; made by `testAgent`. Its runs are one after the other: the server's time is one for all. */
export class TestAgent<Agent extends AgentType = AgentType> {
  /** Plays the model. */
  readonly emulator: VendorEmulator;
  /** Starts and reads runs on the test server, for what `run` does not do. */
  readonly client: AgentClient;
  readonly #agent: Agent;
  readonly #parts: Parts;
  readonly #tools: ReadonlySet<string>;
  readonly #played: Played;
  #isClosed = false;

  /** @internal */
  constructor(agent: Agent, parts: Parts, played: Played) {
    this.#agent = agent;
    this.#parts = parts;
    this.#played = played;
    this.#tools = failingTools(parts.agents);
    this.emulator = parts.emulator;
    this.client = parts.client;
  }

  /**
   * Starts a run, plays its script, and returns how it ended. The server's time is skipped while nothing happens.
   *
   * Errors: rejects if the run leaves its script: a request without a step, a wait that nobody ends, steps that are left over, a
   * request that the vendor would refuse; `UserError` for a script that is none; those of `AgentClient.start`.
   */
  async run(
    request: AgentStart<Agent>,
    script: readonly TestStep[] | ScriptRule,
  ): Promise<TestRun<OutputOf<Agent, 'output'>>> {
    if (this.#isClosed)
      throw new UserError(
        `Test agent "${this.#agent.name}" is closed. Make another with testAgent().`,
      );
    if (this.#played.script !== undefined)
      throw new UserError(
        `Test agent "${this.#agent.name}" has a run in progress, and a second one would take its steps. Await the first, or make another test agent.`,
      );
    const current = new TestScript(script, this.#tools);
    this.#played.script = current;
    try {
      return await this.#play(request, current);
    } finally {
      delete this.#played.script;
    }
  }

  /** Ends the worker, the server and everything else that was started. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#parts.end();
  }

  /** `close`, at the end of a block: `await using agent = await testAgent(…)`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #play(
    request: AgentStart<Agent>,
    script: TestScript,
  ): Promise<TestRun<OutputOf<Agent, 'output'>>> {
    const { server, client, agents, temporalClient, emulator, store } = this.#parts;
    const first = emulator.requests.length;
    await healRoutes(store, await server.currentTimeMs());
    const starting = client.start(this.#agent, request);
    // Known before the run has begun: its first request may come at once.
    this.#played.run = starting.then(({ runId }) => client.run(runId));
    this.#played.run.catch(() => undefined);
    const handle = await starting;
    const { runId } = handle;
    const hasSubagents = agents.some(({ tools }) => tools.some((tool) => 'subagent' in tool));
    const unplanned = (): string | undefined => this.#unplannedSince(first);
    const terminate = (id: string, why: string): Promise<unknown> =>
      temporalClient.workflow.getHandle(id).terminate(why);
    const place = { server, client, script, unplanned, terminate, hasSubagents };
    const problem = await followRun(place, client.run(runId));
    if (problem !== undefined) throw new Error(problem);
    const result = await handle.result();
    const requests = emulator.requests.slice(first);
    this.#checkEnd(first, script, runId, result);
    const events = await allEvents(client.run(runId));
    return { runId, result, prompts: requests.map(({ prompt }) => prompt), events };
  }

  #unplannedSince(first: number): string | undefined {
    const { emulator } = this.#parts;
    for (const request of emulator.requests.slice(first)) {
      const { answer } = request;
      if (answer.type === 'unplanned') return unplannedProblem(request, first);
      if (answer.type === 'refused')
        return `The vendor would refuse the request (${answer.error.status}): ${answer.error.message ?? ''}`;
    }
    return undefined;
  }

  #checkEnd(
    first: number,
    { leftover }: TestScript,
    runId: string,
    result: RunResult<unknown>,
  ): void {
    const problem = this.#unplannedSince(first);
    if (problem !== undefined) throw new Error(problem);
    if (leftover.length === 0) return;
    const why = 'reason' in result ? `: ${result.reason}` : '';
    const message = result.status === 'failed' ? ` (${result.message})` : '';
    throw new Error(
      `Run "${runId}" ended as ${result.status}${why}${message}, before these steps of its script: ${leftover.join(', ')}. Remove them, or find out why the run ended.`,
    );
  }
}

/** Ends the cooldowns of earlier runs, which all runs of a store share: a fault that one test scripts is not another one's. */
async function healRoutes(store: Store, serverMs: number): Promise<void> {
  const atMs = Math.max(serverMs, Date.now());
  for (const { route } of await store.listHealth())
    await store.reportSuccess({ route, startedAtMs: atMs, atMs });
}

async function allEvents(run: RunHandle): Promise<readonly RunEntry[]> {
  const entries: RunEntry[] = [];
  for await (const entry of run.events()) entries.push(entry);
  return entries;
}

/** Errors: `UserError` for what is no agent, no option, or no provider of the emulator. */
function checkGiven(agent: unknown, given: TestAgentOptions): readonly AgentDefinition[] {
  checkOptions(
    'testAgent',
    '',
    options,
    given,
    'Its options: agents, wires, prices, windows, notifiers.',
  );
  const agents = [agent, ...(given.agents ?? [])];
  for (const each of agents) {
    if (typeof each !== 'object' || each === null)
      throw new UserError(
        `testAgent: ${shownValue(each)} is given as an agent. Give what defineAgent returned.`,
      );
    checkAgentShape(each);
  }
  // Checked just now.
  const known = agents as readonly AgentDefinition[];
  checkWires(known, given.wires ?? {});
  return known;
}

/** Starts everything of a test agent; `testAgent` of the entry loads it. */
export async function startTestAgent<Agent extends AgentType>(
  agent: Agent,
  given: TestAgentOptions,
): Promise<TestAgent<Agent>> {
  const agents = checkGiven(agent, given);
  const played: Played = {};
  const ends: (() => Promise<unknown>)[] = [];
  const end = async (): Promise<void> => {
    for (const each of ends.splice(0).toReversed()) await each();
  };
  try {
    const parts = await startParts(agents, given, played, ends);
    return new TestAgent(agent, { ...parts, agents, end }, played);
  } catch (thrown) {
    await end();
    throw thrown;
  }
}

async function startParts(
  agents: readonly AgentDefinition[],
  { wires = {}, prices, windows, notifiers }: TestAgentOptions,
  played: Played,
  ends: (() => Promise<unknown>)[],
): Promise<Omit<Parts, 'agents' | 'end'>> {
  const emulator = await VendorEmulator.start({ servers: playedServers });
  ends.push(() => emulator.stop());
  emulator.script((request) => stepFrom(played, request));
  const store = await temporaryStore(ends);
  const activities = createActivities({
    store,
    providers: emulatedProviders(agents, wires, emulator),
    agents: agents.map((each) => withFailingTools(each, (tool) => played.script?.takeFault(tool))),
    ...defined({ prices, windows, notifiers }),
  });
  installRuntime('error', { withoutWorkers: true });
  const server = await startTestServer();
  ends.push(() => server.teardown());
  const taskQueue = `test-agent-${randomUUID()}`;
  const worker = await createWorker({
    connection: server.nativeConnection,
    taskQueue,
    activities,
    shutdownGraceMs: closeGraceMs,
    cacheDirectory: readEnvironment().cacheDirectory,
  });
  const working = worker.run();
  ends.push(async () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await working.catch(() => undefined);
  });
  const temporalClient = new Client({ connection: server.connection });
  const client = new AgentClient(temporalClient, { taskQueue, searchAttributes: false, store });
  return { emulator, server, client, temporalClient, store };
}

/** Errors: `UserError` for a request that the script has no step for: the emulator says so to whoever reads its problems. */
async function stepFrom(
  { script, run }: Played,
  request: RecordedRequest,
): Promise<Step | undefined> {
  if (script === undefined) throw new UserError('no run is in progress');
  const step = await script.takeReply(request);
  if (step === undefined) throw new UserError(script.expected);
  // Before the reply is there, so that the next request has it.
  for (const text of script.takeSaid()) await (await run)?.addMessage(text, { by: 'testAgent' });
  return step;
}

async function temporaryStore(ends: (() => Promise<unknown>)[]): Promise<Store> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-test-agent-'));
  ends.push(() => rm(folder, { recursive: true, force: true }));
  const store = await openStore(`sqlite:${path.join(folder, 'store.db')}`);
  ends.push(() => store.close());
  return store;
}
