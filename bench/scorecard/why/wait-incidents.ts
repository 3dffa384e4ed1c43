/** Runs that wait, or that cannot go on. Expectations were written before `holdfast why`. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { fault, reply } from '../../../testing/emulator/script';
import type { IncidentsById } from './incident';
import { lookUp, waits } from './incident';

const hour = 3_600_000;

/** A payment that takes effect, and whose worker dies before anybody reads its answer. */
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ amount: z.number() }),
  effect: 'irreversible',
  onUnknown: 'ask-person',
  timeoutMs: 60_000,
  execute: ({ amount }) =>
    amount < 0 ? 'nothing to pay' : new Promise<string>(() => setTimeout(() => 0, 60_000)),
});

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ order: z.string() }),
  effect: 'keyed',
  approval: 'always',
  execute: ({ order }) => `refunded ${order}`,
});

const refunds = reply.toolCalls([{ name: 'refund', input: { order: '17' } }]);
const quota = fault.http(400, {
  error: {
    type: 'invalid_request_error',
    message: 'Your credit balance is too low to access the Anthropic API.',
  },
});

/** Twelve incidents. */
export const waitIncidents: IncidentsById = {
  'no-worker': {
    taskQueue: 'why-nobody',
    happen: () => Promise.resolve(undefined),
    expected: {
      cause: 'no_worker',
      says: ['why-nobody'],
      next: 'holdfast worker --task-queue why-nobody',
    },
  },
  'store-down': {
    taskQueue: 'why-store',
    model: (_request, index) => lookUp(String(index)),
    prepare: async ({ startWorker }) => {
      await startWorker('why-store');
    },
    happen: async (world, run) => {
      await world.eventually(
        () => run.status(),
        ({ iteration }) => iteration > 1,
      );
      const unlock = await world.lockStore('why-store');
      await world.eventually(
        () => run.status(),
        ({ reason }) => reason?.startsWith('store') === true,
      );
      return unlock;
    },
    agent: { limits: { maxIterations: 100_000 } },
    expected: { cause: 'store_unavailable', says: ['store', 'UTC'], next: 'store' },
  },
  'key-refused': {
    agent: {
      chain: [
        { provider: 'anthropic', model: 'claude-sonnet-5' },
        { provider: 'openai', model: 'gpt-5' },
      ],
    },
    model: () => fault.http(401),
    expected: {
      cause: 'auth',
      says: ['anthropic/claude-sonnet-5', 'openai/gpt-5', '401'],
      next: 'ANTHROPIC_API_KEY',
    },
  },
  'quota-used-up': {
    model: () => quota,
    expected: { cause: 'billing', says: ['quota-used-up/claude-sonnet-5'], next: 'credit' },
  },
  'rate-limited': {
    model: () => fault.http(429, { headers: { 'retry-after': '1800' } }),
    happen: waits,
    expected: { cause: 'rate_limit', says: ['rate-limited/claude-sonnet-5', 'UTC'], next: 'UTC' },
  },
  'provider-unreachable': {
    agent: { limits: { streamRetryBaseMs: 10 } },
    model: () => fault.connection('reset'),
    happen: waits,
    expected: {
      cause: 'network',
      says: ['provider-unreachable/claude-sonnet-5', 'UTC'],
      next: 'UTC',
    },
  },
  'approval-with-expiry': {
    agent: { tools: [refund], approvals: { expiresAfterMs: hour, onExpiry: 'reject' } },
    model: (request) =>
      request.toolResults.length === 0 ? refunds : reply.text('It is refunded.'),
    happen: waits,
    expected: {
      cause: 'approval',
      says: ['refund', 'UTC', 'rejected'],
      next: 'holdfast approve RUN ',
    },
  },
  'approval-expired': {
    agent: { tools: [refund], approvals: { expiresAfterMs: 1_000, onExpiry: 'escalate' } },
    model: (request) =>
      request.toolResults.length === 0 ? refunds : reply.text('It is refunded.'),
    happen: async (world, run) => {
      await world.eventually(
        () => run.pending(),
        ([item]) => item?.escalated === true,
      );
      return undefined;
    },
    expected: {
      cause: 'approval',
      says: ['refund', 'nobody decided in time'],
      next: 'holdfast approve RUN ',
    },
  },
  'unknown-effect': {
    taskQueue: 'why-killed',
    agent: { tools: [pay], limits: { heartbeatTimeoutMs: 2_000 } },
    model: (request) =>
      request.toolResults.length === 0
        ? reply.toolCalls([{ name: 'pay', input: { amount: 17 } }])
        : reply.text('Paid.'),
    happen: async (world, run) => {
      const first = await world.startWorker('why-killed');
      await world.eventually(
        () => run.status(),
        ({ doing }) => doing.startsWith('running pay'),
      );
      await first.kill();
      await world.startWorker('why-killed');
      return waits(world, run);
    },
    expected: {
      cause: 'unknown_outcome',
      says: ['pay', 'took effect'],
      next: 'holdfast answer RUN ',
    },
  },
  'changed-code': {
    taskQueue: 'why-deployed',
    agent: { tools: [refund] },
    model: () => refunds,
    happen: async (world, run) => {
      const before = await world.startWorker('why-deployed');
      await waits(world, run);
      await before.kill();
      await world.startWorker('why-deployed', 'changed');
      const [item] = await run.pending();
      // It wakes the workflow.
      await run.addMessage('hurry');
      if (item?.type !== 'approval') throw new Error('no approval waits');
      await world.eventually(
        () => world.temporal(run.runId).describe(),
        ({ raw }) => (raw.pendingWorkflowTask?.attempt ?? 0) > 1,
      );
      return undefined;
    },
    expected: {
      cause: 'workflow_task_failed',
      says: ['deploy', 'TMPRL1100'],
      next: 'holdfast replay --run-id RUN',
    },
  },
  'worker-without-tool': {
    taskQueue: 'why-lacking',
    agent: { tools: [refund] },
    model: (request) =>
      request.toolResults.length === 0 ? refunds : reply.text('It is refunded.'),
    happen: async (world, run) => {
      const before = await world.startWorker('why-lacking');
      await waits(world, run);
      await before.kill();
      await world.startWorker('why-lacking', 'lacking');
      const [item] = await run.pending();
      if (item?.type !== 'approval') throw new Error('no approval waits');
      await run.approve(item.approvalId);
      await world.eventually(
        () => world.temporal(run.runId).describe(),
        ({ raw }) => (raw.pendingActivities?.[0]?.attempt ?? 0) > 1,
      );
      return undefined;
    },
    expected: {
      cause: 'worker_mismatch',
      says: ['refund', 'attempt'],
      next: 'holdfast worker --task-queue why-lacking',
    },
  },
  'mcp-gone': {
    model: (_request, index) =>
      index === 0 ? lookUp('17') : reply.toolCalls([{ name: 'shop_orders', input: {} }]),
    taskQueue: 'why-mcp',
    usesMcp: true,
    prepare: async ({ startWorker, stopMcpServer }) => {
      await startWorker('why-mcp');
      await stopMcpServer();
    },
    agent: { limits: { maxSameCalls: 16 } },
    expected: { cause: 'mcp_server', says: ['MCP server "shop"'], next: 'MCP server "shop"' },
  },
};
