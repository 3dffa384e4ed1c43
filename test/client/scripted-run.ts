/** Scripted activities and workers for tests of the client: real Temporal, real workflow, results made up by the test. */
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import { setTimeout as delay } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import { AgentClient } from '../../client/agent-client';
import { ClientError } from '../../client/client-error';
import type { InfraError } from '../../workflows/core/failure';
import { defaultLimits } from '../../workflows/core/limits';
import type { Activities } from '../../workflows/core/activities';
import type { CallModelInput, CallModelResult } from '../../workflows/core/model-call/ports';
import type { CheckEditInput, CheckEditResult } from '../../workflows/core/people/ports';
import type { PrepareRunInput, PrepareRunResult } from '../../workflows/core/run/ports';
import type {
  ProposedToolCall,
  RunToolInput,
  RunToolResult,
} from '../../workflows/core/tools/ports';
import type { DevServer } from '../support/temporal';
import { uniqueName, workflowBundle } from '../support/temporal';

/** What a reply of the scripted model calls. */
interface ScriptedCall {
  readonly name: string;
  readonly label?: string;
  readonly input?: { readonly [key: string]: string };
  readonly needsApproval?: boolean;
}

type Awaitable<Value> = Value | Promise<Value>;

/** What the test decides; everything else is filled in. */
export interface Script {
  /** Called for each model call, the `nth` of its iteration from 1: an answer, tool calls, or a throw. */
  readonly model: (
    input: CallModelInput,
    nth: number,
  ) => Awaitable<string | readonly ScriptedCall[]>;
  readonly tool?: (input: RunToolInput) => Awaitable<Partial<RunToolResult>>;
  /** Problems of changed arguments; none by default. */
  readonly check?: (input: CheckEditInput['input']) => Awaitable<string | undefined>;
  readonly prepare?: (input: PrepareRunInput) => Awaitable<Partial<PrepareRunResult['snapshot']>>;
}

/** An activity's failure as the real activities throw it. */
export function infra(code: InfraError['code'], message: string = code): ApplicationFailure {
  const failure: InfraError = { kind: 'infra', code, message };
  return ApplicationFailure.create({ message, type: code, nonRetryable: true, details: [failure] });
}

function proposed(input: CallModelInput, call: ScriptedCall, index: number): ProposedToolCall {
  const toolCallId = `${input.idPrefix}_${input.iteration}_${index}`;
  return {
    toolCallId,
    name: call.name,
    ...(call.label === undefined ? {} : { label: call.label }),
    input: call.input ?? {},
    fingerprint: `${call.name}:${JSON.stringify(call.input ?? {})}:${input.iteration}`,
    ...(call.needsApproval === true ? { approvalDigest: `digest-${toolCallId}` } : {}),
  };
}

/** An input as the workflow gives it to a run without stored facts, as those of a script are. */
function whole<Input extends object>(input: Input): Extract<Input, { storeId: string }> {
  if (!('storeId' in input)) throw new Error('scripted runs have no stored facts');
  return input as Extract<Input, { storeId: string }>;
}

/** Activities that follow the script. */
function scriptedActivities(script: Script): Activities {
  let heads = 0;
  const calls = new Map<number, number>();
  const head = (): string => `head-${(heads += 1)}`;
  return {
    agentNames: () => Promise.reject(new Error('no agents in this script')),
    async prepareRun(input): Promise<PrepareRunResult> {
      const overrides = (await script.prepare?.(input)) ?? {};
      return {
        head: head(),
        snapshot: {
          agent: input.agent,
          flags: input.flags,
          compaction: defaultCompaction,
          definition: 'definition',
          storeId: 'store',
          completion: 'text',
          chain: ['primary', 'spare'].map((model) => ({
            provider: 'scripted',
            model,
            toolProtocol: 'native',
            maxOutputTokens: 1_000,
            windowTokens: 100_000,
          })),
          tools: [],
          limits: { ...defaultLimits, ...input.limits },
          ...overrides,
        },
      };
    },
    async callModel(sent): Promise<CallModelResult> {
      const input = whole(sent);
      const nth = (calls.get(input.iteration) ?? 0) + 1;
      calls.set(input.iteration, nth);
      const reply = await script.model(input, nth);
      const proposals = typeof reply === 'string' ? [] : reply;
      return {
        headBefore: head(),
        head: head(),
        stopReason: proposals.length === 0 ? 'end' : 'tool-use',
        toolCalls: proposals.map((call, index) => proposed(input, call, index)),
        textPreview: typeof reply === 'string' ? reply.slice(0, 200) : '',
        ...(typeof reply === 'string' ? { answer: reply } : {}),
        usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0 },
        contextTokens: 100 * input.iteration,
      };
    },
    checkGuardrails: () => Promise.reject(new Error('no script has guardrails')),
    compact: () => Promise.reject(new Error('no script compacts')),
    planRecovery: () => Promise.reject(infra('worker_lost', 'these runs are never stuck')),
    async runTool(sent): Promise<RunToolResult> {
      const input = whole(sent);
      const result = (await script.tool?.(input)) ?? {};
      return {
        result: `blob-${input.toolCallId}`,
        preview: 'done',
        bytes: 4,
        fingerprint: input.toolCallId,
        ...result,
      };
    },
    async checkEdit({ name, toolCallId, input }): Promise<CheckEditResult> {
      const problems = await script.check?.(input);
      if (problems !== undefined) return { type: 'refused', problems };
      if (input === undefined) return { type: 'accepted' };
      const fingerprint = `${name}:${JSON.stringify(input)}`;
      const approvalDigest = `edited-${toolCallId}`;
      const editNotice = 'a person changed it';
      return { type: 'accepted', call: { input, fingerprint, approvalDigest, editNotice } };
    },
    notify: (input) => Promise.resolve({ delivered: input.notifiers, failed: [] }),
    recordObservations: () => Promise.resolve(),
    extractPatterns: () => Promise.resolve({ tenants: 0, observations: 0, patterns: 0, active: 0 }),
  };
}

/** A worker that runs until it is stopped. */
interface RunningWorker {
  stop(): Promise<void>;
}

async function start(worker: Worker): Promise<RunningWorker> {
  const running = worker.run();
  await Promise.resolve();
  return {
    async stop() {
      worker.shutdown();
      await running;
    },
  };
}

/** A task queue with the client of its runs; the test starts and stops the two kinds of workers. */
export interface Stage {
  readonly client: AgentClient;
  readonly temporal: Client;
  readonly taskQueue: string;
  /** A worker for workflows only: those of this file (default: Holdfast's). */
  decide(workflowsPath?: string): Promise<RunningWorker>;
  /** A worker for activities only. */
  act(script: Script): Promise<RunningWorker>;
}

/** Makes a stage on this server. */
export function createStage(server: DevServer): Stage {
  const taskQueue = uniqueName('client');
  const { namespace } = server;
  const temporal = new Client({ connection: server.connection, namespace });
  const connection: NativeConnection = server.nativeConnection;
  return {
    taskQueue,
    temporal,
    client: new AgentClient(temporal, {
      taskQueue,
      address: server.address,
    }),
    decide: async (workflowsPath) =>
      start(
        await Worker.create({
          connection,
          namespace,
          taskQueue,
          workflowBundle: await workflowBundle(workflowsPath),
          stickyQueueScheduleToStartTimeout: '1s',
        }),
      ),
    act: async (script) =>
      start(
        await Worker.create({
          connection,
          namespace,
          taskQueue,
          activities: scriptedActivities(script),
          shutdownGraceTime: '1s',
        }),
      ),
  };
}

/** What hangs for five minutes hangs for good, also on a busy machine. */
const hangMs = 300_000;

/** Polls a real server until the condition holds. Errors: says what did not happen in five minutes. */
export async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const deadlineAtMs = Date.now() + hangMs;
  while (!(await holds())) {
    if (Date.now() > deadlineAtMs) throw new Error(`not within 5 minutes: ${what}`);
    await delay(50);
  }
}

/** A promise that the test resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    opened,
    open: () => {
      open();
    },
  };
}

/** The error with which the client refuses; anything else fails the test. */
export async function refusal(work: Promise<unknown>): Promise<ClientError> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof ClientError) return thrown;
  throw new Error(`no ClientError: ${String(thrown)}`);
}
