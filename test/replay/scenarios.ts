/** One run for each path of the workflow, to be recorded once per release and replayed for ever. */
import { once } from 'node:events';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { ScriptRule } from '../../testing/emulator/script-queue';
import { defaultLimits } from '../../workflows/core/limits';
import type { RunRequest } from '../../workflows/core/run/ports';
import type { RunHandle } from '../support/agent-world';
import { eventually, firstPending, otherModel, statusOf, testModel } from '../support/agent-world';

/** A run of one path. */
export interface Scenario {
  readonly name: string;
  readonly request: RunRequest;
  readonly steps: readonly Step[] | ScriptRule;
  /** Names for the histories of its subagents, by their tool activity's id. */
  readonly children?: Readonly<Record<string, string>>;
  /** What people do meanwhile. */
  readonly act?: (handle: RunHandle) => Promise<void>;
  readonly endsAs: 'completed' | 'stopped' | 'failed' | 'cancelled';
}

const echo = defineTool({
  name: 'echo',
  description: 'Returns the text, or fails with it.',
  input: z.object({ text: z.string(), fail: z.enum(['model', 'people']).optional() }),
  effect: 'keyed',
  approval: ({ text }) => text === 'ask first',
  label: 'text',
  execute: ({ text, fail }) => {
    if (fail === 'model') throw new ToolError(text);
    if (fail === 'people') throw new InfraException({ code: 'tool_infrastructure', message: text });
    return text;
  },
});

const slow = defineTool({
  name: 'slow',
  description: 'Ends only when it is stopped.',
  input: z.object({}),
  effect: 'read',
  execute: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(new Error('stopped'));
      });
    }),
});

const dawdled = new Set<string>();
/** Quick; with `dawdles`, only after it has been stopped once. */
const glance = defineTool({
  name: 'glance',
  description: 'Returns the text.',
  input: z.object({ text: z.string(), dawdles: z.boolean().default(false) }),
  effect: 'read',
  quick: true,
  execute: async ({ text, dawdles }, { idempotencyKey, signal }) => {
    if (!dawdles || dawdled.has(idempotencyKey)) return text;
    dawdled.add(idempotencyKey);
    await once(signal, 'abort');
    throw signal.reason;
  },
});

const common = {
  instructions: 'You echo.',
  tools: [echo, slow, glance],
  limits: { heartbeatTimeoutMs: 2_000, streamRetryBaseMs: 20 },
} as const;

/** Milliseconds of a cooldown that a recording can wait for. */
const shortCooldownMs = 300;

/** Agents of the scenarios. */
export const scenarioAgents: readonly AgentDefinition[] = [
  { ...common, name: 'single', chain: [{ provider: 'anthropic', model: testModel }] },
  {
    ...common,
    name: 'pair',
    chain: [
      { provider: 'anthropic', model: testModel },
      { provider: 'openai', model: otherModel },
    ],
    limits: {
      ...common.limits,
      streamRetries: 0,
      cooldownMs: { ...defaultLimits.cooldownMs, overloaded: shortCooldownMs },
    },
  },
  {
    ...common,
    name: 'finisher',
    completion: 'tool',
    chain: [{ provider: 'chat', model: otherModel }],
  },
];

const call = (...inputs: object[]): Step =>
  reply.toolCalls(inputs.map((input) => ({ name: 'echo', input: { text: 'hello', ...input } })));
const request = (agent: string, limits?: RunRequest['limits']): RunRequest => ({
  agent,
  goal: 'Echo something.',
  ...(limits === undefined ? {} : { limits }),
});

async function decide(handle: RunHandle, decision: 'approve' | 'reject'): Promise<void> {
  const item = await firstPending(handle);
  if (item.type !== 'approval') throw new Error('an approval was expected');
  const { approvalId, digest } = item;
  await handle.executeUpdate('resolveApproval', { args: [{ approvalId, digest, decision }] });
}

async function answer(handle: RunHandle): Promise<void> {
  const item = await firstPending(handle);
  if (item.type !== 'question') throw new Error('a question was expected');
  await handle.executeUpdate('answer', {
    args: [{ questionId: item.questionId, answer: 'go on' }],
  });
}

async function untilDoing(handle: RunHandle, what: string): Promise<void> {
  await eventually(
    async () => {
      const status = await statusOf(handle);
      if (status.status === 'failed' || status.status === 'completed')
        throw new Error(`the run ended as ${status.status} before it was ${what}`);
      return status;
    },
    (status) => status.doing.includes(what),
  );
}

const reply429 = fault.http(429);

/** Every path, by name. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'text-answer',
    request: request('single'),
    steps: [reply.text('hi')],
    endsAs: 'completed',
  },
  {
    name: 'parallel-tools',
    request: request('single'),
    steps: [call({}, { text: 'two' }, { text: 'three' }), reply.text('done')],
    endsAs: 'completed',
  },
  {
    name: 'repeated-effect',
    request: request('single'),
    steps: [call({}), call({}), call({}), reply.text('done')],
    endsAs: 'completed',
  },
  {
    name: 'local-calls',
    request: request('single'),
    steps: [
      reply.toolCalls([
        { name: 'glance', input: { text: 'one' } },
        { name: 'glance', input: { text: 'two', dawdles: true } },
      ]),
      reply.toolCalls([{ name: 'glance', input: { text: 'three' } }]),
      reply.text('done'),
    ],
    endsAs: 'completed',
  },
  {
    name: 'agent-errors-healed',
    request: request('single'),
    steps: [
      reply.toolCalls([{ name: 'unknown_tool', input: {} }]),
      reply.rawToolArguments('echo', '{"text":'),
      call({ fail: 'model' }),
      call({}),
      reply.text('done'),
    ],
    endsAs: 'completed',
  },
  {
    name: 'circuit-breaker',
    request: request('single'),
    steps: Array.from({ length: 5 }, () => call({ fail: 'model' })),
    endsAs: 'failed',
  },
  {
    name: 'max-iterations',
    request: request('single', { maxIterations: 2 }),
    steps: [call({}), call({})],
    endsAs: 'failed',
  },
  {
    name: 'tool-limit',
    request: request('single', { maxToolCalls: 1 }),
    steps: [call({}, { text: 'two' })],
    endsAs: 'failed',
  },
  {
    name: 'truncated-then-larger',
    request: request('single'),
    steps: [reply.rawToolArguments('echo', '{"te', { stop: 'max-tokens' }), reply.text('done')],
    endsAs: 'completed',
  },
  { name: 'refusal', request: request('single'), steps: [reply.refusal()], endsAs: 'failed' },
  {
    name: 'pause-then-answer',
    request: request('single'),
    steps: [reply.text('thinking', { stop: 'pause' }), reply.text('done')],
    endsAs: 'completed',
  },
  {
    name: 'retry-on-route',
    request: request('single'),
    steps: [fault.overloadedInStream(), fault.cutStream(), reply.text('done')],
    endsAs: 'completed',
  },
  {
    name: 'failover',
    request: request('pair'),
    steps: [fault.http(529), call({}), reply.text('done')],
    endsAs: 'completed',
  },
  {
    name: 'all-routes-cooling',
    request: request('pair'),
    steps: [fault.http(529), fault.http(503), reply.text('done')],
    endsAs: 'completed',
  },
  {
    name: 'chain-exhausted',
    request: request('single', { maxProviderWaitMs: 0, streamRetries: 0 }),
    steps: [reply429],
    endsAs: 'failed',
  },
  {
    name: 'tool-infra',
    request: request('single'),
    steps: [call({ fail: 'people' })],
    endsAs: 'failed',
  },
  { name: 'unknown-agent', request: request('nobody'), steps: [], endsAs: 'failed' },
  {
    name: 'approved',
    request: request('single'),
    steps: [call({ text: 'ask first' }), reply.text('done')],
    act: (handle) => decide(handle, 'approve'),
    endsAs: 'completed',
  },
  {
    name: 'rejected-beside-a-sibling',
    request: request('single'),
    steps: [call({ text: 'ask first' }, {}), reply.text('done')],
    act: (handle) => decide(handle, 'reject'),
    endsAs: 'completed',
  },
  {
    name: 'asks-then-completes',
    request: request('finisher'),
    steps: [
      reply.text('no call'),
      reply.toolCalls([{ name: 'ask_user', input: { question: 'Shall I?' } }]),
      reply.toolCalls([{ name: 'complete_task', input: { summary: 'done' } }]),
    ],
    act: answer,
    endsAs: 'completed',
  },
  {
    name: 'message-and-escalation',
    request: request('single'),
    steps: [call({ text: 'ask first' }), reply.text('done')],
    act: async (handle: RunHandle): Promise<void> => {
      await firstPending(handle);
      await handle.signal('addMessage', { text: 'one more thing' });
      await handle.signal('escalate', { reason: 'let me see' });
      await decide(handle, 'approve');
      await untilDoing(handle, 'let me see');
      await answer(handle);
    },
    endsAs: 'completed',
  },
  {
    name: 'stopped-in-a-tool',
    request: request('single'),
    steps: [reply.toolCalls([{ name: 'slow', input: {} }])],
    act: async (handle: RunHandle): Promise<void> => {
      await untilDoing(handle, 'slow');
      await handle.signal('stop', { reason: 'enough' });
    },
    endsAs: 'stopped',
  },
  {
    name: 'cancelled-in-a-tool',
    request: request('single'),
    steps: [reply.toolCalls([{ name: 'slow', input: {} }])],
    act: async (handle: RunHandle): Promise<void> => {
      await untilDoing(handle, 'slow');
      await handle.cancel();
    },
    endsAs: 'cancelled',
  },
];
