/** The tools under test: one of each effect, all at the same bank. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import type { Tool, ToolContext } from '../../../activities/tools/tool';
import type { KillPoint, PlannedTool } from './kill-plan';

const input = z.object({ callId: z.string() });
const receiptSchema = z.object({ receipt: z.string() });
const probeSchema = z.object({ applied: z.boolean() });

/** What the worker says to the bank. */
export interface BankClient {
  /** Resolves unless the call is held here. */
  at(callId: string, point: KillPoint): Promise<void>;
  get(path: string, signal: AbortSignal): Promise<unknown>;
  post(path: string, body: object): Promise<unknown>;
}

/** A client of the bank. */
export function bankClient(url: string): BankClient {
  const send = async (path: string, init: RequestInit): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, init);
    if (!response.ok) throw new Error(`the bank answers ${response.status}`);
    return response.json();
  };
  const post = (path: string, body: object): Promise<unknown> =>
    send(path, { method: 'POST', body: JSON.stringify(body) });
  return {
    at: async (callId, point) => {
      await post('/points', { callId, point });
    },
    get: (path, signal) => send(path, { signal }),
    post,
  };
}

async function pay(
  bank: BankClient,
  callId: string,
  isKeyed: boolean,
  { idempotencyKey }: ToolContext,
): Promise<string> {
  await bank.at(callId, 'started');
  // Without the signal, as many tools do: one that heeds it does not start late, once its worker is awake.
  const answer = await bank.post('/effects', { callId, key: idempotencyKey, isKeyed });
  const { receipt } = receiptSchema.parse(answer);
  await bank.at(callId, 'answered');
  return `paid, receipt ${receipt}`;
}

/** Name of a tool as the model calls it. */
export function toolName(tool: PlannedTool): string {
  return `bank_${tool}`;
}

/** The tools. */
export function bankTools(bank: BankClient): readonly Tool[] {
  const base = { input, timeoutMs: 60_000 } as const;
  return [
    defineTool({
      ...base,
      name: toolName('read'),
      description: 'Reads the balance.',
      effect: 'read',
      execute: async ({ callId }, { signal }) => {
        await bank.at(callId, 'started');
        await bank.get(`/balance?call=${encodeURIComponent(callId)}`, signal);
        await bank.at(callId, 'answered');
        return 'read';
      },
    }),
    defineTool({
      ...base,
      name: toolName('keyed'),
      description: 'Pays with an idempotency key.',
      effect: 'keyed',
      execute: ({ callId }, context) => pay(bank, callId, true, context),
    }),
    defineTool({
      ...base,
      name: toolName('reconcilable'),
      description: 'Pays, and can find out whether it did.',
      effect: 'reconcilable',
      execute: ({ callId }, context) => pay(bank, callId, false, context),
      probe: async (key, { callId }, { signal }) => {
        const answer = await bank.get(`/probe?call=${encodeURIComponent(callId)}`, signal);
        return probeSchema.parse(answer).applied
          ? { type: 'applied', output: `paid, receipt ${key}` }
          : { type: 'not-applied' };
      },
    }),
    ...(['irreversible', 'ask'] as const).map((tool) =>
      defineTool({
        ...base,
        name: toolName(tool),
        description: 'Pays in cash.',
        effect: 'irreversible',
        onUnknown: tool === 'ask' ? 'ask-person' : 'tell-model',
        execute: ({ callId }, context) => pay(bank, callId, false, context),
      }),
    ),
  ];
}
