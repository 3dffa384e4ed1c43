/** The agents of the chaos runs, for `holdfast worker --agents`: one for each part of Holdfast. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/index';
import { defineSubagent, defineTool } from '../../activities/index';
import { bankClient, bankTools } from '../scorecard/effects/bank-tools';
import { approvedTool, pageTool } from './jobs';
import { blockMs } from './schedule';

const bank = bankClient(process.env['CHAOS_BANK_URL'] ?? '');
const tools = bankTools(bank);

const approvedPay = defineTool({
  name: approvedTool,
  description: 'Pays, once a person has approved it.',
  input: z.object({ callId: z.string() }),
  effect: 'keyed',
  approval: 'always',
  timeoutMs: 60_000,
  execute: async ({ callId }, { idempotencyKey }) => {
    await bank.post('/effects', { callId, key: idempotencyKey, isKeyed: true });
    return `paid, receipt ${idempotencyKey}`;
  },
});

const page = defineTool({
  name: pageTool,
  description: 'Reads a page.',
  input: z.object({ callId: z.string() }),
  effect: 'read',
  execute: ({ callId }) => `receipt of ${callId}. ${'It was a dark and stormy night. '.repeat(80)}`,
});

const chain: AgentDefinition['chain'] = [
  { provider: 'anthropic', model: 'claude-sonnet-5' },
  { provider: 'openai', model: 'gpt-5' },
];
const windowTokens = 16_000;
const maxOutputTokens = 1_000;

const shared = {
  chain,
  patterns: 'off',
  recovery: { mode: 'off' },
  limits: {
    maxIterations: 1_000,
    maxToolCalls: 2_000,
    maxActiveMs: 6 * 3_600_000,
    heartbeatTimeoutMs: 6_000,
  },
} as const;

const delegate = defineSubagent({
  name: 'delegate',
  description: 'Hands a part of the job to a helper.',
  agent: 'helper',
  share: 0.4,
});

/** Read by `holdfast worker`. */
export const agents: readonly AgentDefinition[] = [
  { ...shared, name: 'payer', instructions: 'You pay.', tools },
  { ...shared, name: 'clerk', instructions: 'You pay.', tools: [...tools, approvedPay] },
  { ...shared, name: 'asker', instructions: 'You ask first.', tools, completion: 'tool' },
  { ...shared, name: 'lead', instructions: 'You delegate.', tools: [delegate] },
  { ...shared, name: 'helper', instructions: 'You are a helper.', tools },
  { ...shared, name: 'desk', instructions: 'You hand over.', tools: [], handoffs: ['teller'] },
  { ...shared, name: 'teller', instructions: 'You are the teller.', tools },
  {
    ...shared,
    name: 'reader',
    instructions: 'You read.',
    tools: [page],
    chain: [
      { provider: 'anthropic', model: 'claude-haiku-4-5', windowTokens, maxOutputTokens },
      { provider: 'openai', model: 'gpt-5-mini', windowTokens, maxOutputTokens },
    ],
  },
  {
    ...shared,
    name: 'quoter',
    instructions: 'You pay, and answer with a form.',
    tools,
    output: z.object({ job: z.string(), calls: z.number() }),
  },
];

/** A tool that computes for too long, at a moment that the chaos chooses. The SDK ends a worker at SIGUSR2. */
process.on('SIGWINCH', () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
});
