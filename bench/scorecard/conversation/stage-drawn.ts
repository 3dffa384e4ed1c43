/** Sets the stage of a drawn fault: its own routes, agent, tool, service, and the rules by which its model speaks. */
import { z } from 'zod';
import type { AgentDefinition, RouteDefinition } from '../../../activities/definitions/agent';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { chatDialects } from '../../../activities/providers/openai/chat-dialect';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import type { Provider } from '../../../activities/providers/provider';
import { defineTool } from '../../../activities/tools/define-tool';
import type { AnyTool } from '../../../activities/tools/tool';
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import type { ReplyStep, Step } from '../../../testing/emulator/script';
import { fault, reply } from '../../../testing/emulator/script';
import type { WireName } from '../../../testing/emulator/wire';
import { defaultLimits } from '../../../workflows/core/limits';
import { scorecardKey } from '../provider/judge-fault';
import { goodAnswer } from '../provider/provider-fault';
import type { Vendors } from '../provider/provider-world';
import { allTries, callFaultStep } from './call-faults';
import type { DrawnFault, Travel } from './drawn-fault';
import { toolFault } from './tool-faults';

/** The service behind the tool: what it applied, by item, with the keys under which it was asked. */
type Ledger = Map<number, Set<string>>;

/** A fault with everything that is its own. */
export interface StagedDrawn {
  readonly fault: DrawnFault;
  readonly agent: AgentDefinition;
  readonly providers: readonly Provider[];
  readonly mounts: readonly [faulty: string, second: string];
  readonly ledger: Ledger;
  /** The model: gives the step for each request, on either route. */
  readonly model: (request: RecordedRequest) => Step;
}

/** Models whose windows nobody narrows, and those that the emulator gives a window of `narrowTokens`. */
const models: Readonly<Record<WireName, string>> = {
  anthropic: 'claude-sonnet-5',
  responses: 'gpt-5',
  chat: 'gpt-5',
};
const narrowModels: Readonly<Record<WireName, string>> = {
  anthropic: 'claude-haiku-4-5',
  responses: 'gpt-5-mini',
  chat: 'gpt-5-mini',
};
const narrowTokens = 20_000;

/** Windows of the emulated vendors, in tokens; the agents believe in ten times as many. */
export const emulatorWindows: Readonly<Record<string, number>> = Object.fromEntries(
  Object.values(narrowModels).map((model) => [model, narrowTokens]),
);

const otherWire: Readonly<Record<WireName, WireName>> = {
  anthropic: 'responses',
  responses: 'anthropic',
  chat: 'anthropic',
};

/** Retries have their real delays. Silence is cut short, and so are cooldowns where the run may wait for one. */
function limitsOf({ chain }: DrawnFault): AgentDefinition['limits'] {
  const restMs = 400;
  const base = { maxIterations: 30, firstByteMs: 8_000, betweenBytesMs: 4_000 };
  if (chain !== 'one route that rests') return { ...base, maxProviderWaitMs: 0 };
  const { cooldownMs } = defaultLimits;
  const rests = { rate_limit: restMs, overloaded: restMs, timeout: restMs, network: restMs };
  return { ...base, maxProviderWaitMs: 60_000, cooldownMs: { ...cooldownMs, ...rests } };
}

function providerOn(wire: WireName, name: string, { emulator }: Vendors): Provider {
  const account = { name, apiKey: scorecardKey, baseUrl: emulator.baseUrl(wire, name) };
  switch (wire) {
    case 'anthropic':
      return anthropicProvider(account);
    case 'responses':
      return openaiProvider({ ...account, api: wire });
    case 'chat':
      return openaiProvider({ ...account, api: wire, dialect: chatDialects.openai });
  }
}

function traveling(step: ReplyStep, travel: Travel): ReplyStep {
  switch (travel) {
    case 'whole events':
      return step;
    case 'CRLF':
      return fault.crlf(step);
    case 'pieces of three bytes':
      // Each piece takes a turn of an event loop that all runs share.
      return { ...step, delivery: { bytesPerWrite: 3 } };
    case 'pieces of seven bytes':
      return { ...step, delivery: { bytesPerWrite: 7 } };
  }
}

/** Items of each batch, numbered through. */
function itemsOf(batches: readonly number[]): readonly (readonly number[])[] {
  let next = 0;
  return batches.map((size) => Array.from({ length: size }, () => (next += 1)));
}

/** The item at whose call a tool's fault strikes. */
export function struckItem({ batches, place }: DrawnFault): number | undefined {
  return itemsOf(batches)[place]?.[0];
}

/** What a service gives for an item: in an overflow, about a quarter of the window. */
function resultOf({ strike }: DrawnFault, item: number): string {
  const head = `booked item ${item}.`;
  if (strike.type !== 'overflow') return head;
  const lines = Array.from({ length: 600 }, (_, line) => `${item}.${line} has ore ${line * 7919}`);
  return `${head}\n${lines.join('\n')}`;
}

/** The tool, at whose first call of the struck batch the drawn fault strikes, once or for good. */
function toolOf(drawn: DrawnFault, ledger: Ledger): AnyTool {
  const { strike, effect } = drawn;
  const struck = struckItem(drawn);
  let isStruck = false;
  const apply = (item: number, key: string): void => {
    ledger.set(item, (ledger.get(item) ?? new Set()).add(key));
  };
  const base = {
    name: 'book',
    description: 'Books an item.',
    input: z.object({ item: z.number() }),
    timeoutMs: strike.type === 'tool' && strike.name.startsWith('time limit') ? 500 : 60_000,
    execute: async (
      { item }: { item: number },
      { idempotencyKey, signal }: { idempotencyKey: string; signal: AbortSignal },
    ) => {
      if (strike.type === 'tool' && item === struck && !isStruck) {
        isStruck = strike.name !== 'broken for good';
        const { isApplied, fail } = toolFault(strike.name);
        if (isApplied && effect !== 'read') apply(item, idempotencyKey);
        await fail(signal);
      }
      apply(item, idempotencyKey);
      return resultOf(drawn, item);
    },
  };
  return effect === 'reconcilable'
    ? defineTool({
        ...base,
        effect,
        probe: (key, { item }) =>
          Promise.resolve(
            ledger.get(item)?.has(key) === true
              ? { type: 'applied', output: resultOf(drawn, item) }
              : { type: 'not-applied' },
          ),
      })
    : defineTool({ ...base, effect });
}

function isSummary({ systemText }: RecordedRequest): boolean {
  return systemText.includes('You summarize the record of an agent');
}

/** The model asks for what the service has not applied yet, batch by batch, and answers when it has all. */
function modelOf(drawn: DrawnFault, ledger: Ledger, faulty: string): StagedDrawn['model'] {
  const { strike, batches, place, travel } = drawn;
  const items = itemsOf(batches);
  const times = strike.type === 'call' && strike.stays === 'for all tries' ? allTries : 1;
  let left = strike.type === 'call' ? times : 0;
  return (request) => {
    if (isSummary(request))
      return reply.text(JSON.stringify({ progress: 'Booked on.', facts: [], decisions: [] }));
    const batch = items.findIndex((each) => each.some((item) => !ledger.has(item)));
    const open = (items[batch] ?? []).filter((item) => !ledger.has(item));
    const said: ReplyStep =
      open.length === 0
        ? reply.text(goodAnswer)
        : reply.toolCalls(
            open.map((item) => ({ name: 'book', input: { item } })),
            { text: 'I book what is left.' },
          );
    const isHere = (batch === -1 ? items.length : batch) === place;
    if (strike.type === 'call' && isHere && left > 0 && request.mount === faulty) {
      left -= 1;
      return callFaultStep(strike.name, traveling(said, travel));
    }
    return traveling(said, travel);
  };
}

/** Builds what is the fault's own. */
export function stageDrawn(drawn: DrawnFault, index: number, vendors: Vendors): StagedDrawn {
  const mounts = [`drawn${index}-faulty`, `drawn${index}-second`] as const;
  const { wire, chain, strike } = drawn;
  const ledger: Ledger = new Map();
  const route = (provider: string, model: string): RouteDefinition => ({
    provider,
    model,
    windowTokens: 10 * narrowTokens,
    maxOutputTokens: 1_024,
  });
  const first = route(mounts[0], (strike.type === 'overflow' ? narrowModels : models)[wire]);
  const second = route(mounts[1], models[otherWire[wire]]);
  return {
    fault: drawn,
    mounts,
    ledger,
    model: modelOf(drawn, ledger, mounts[0]),
    providers: [
      providerOn(wire, mounts[0], vendors),
      providerOn(otherWire[wire], mounts[1], vendors),
    ],
    agent: {
      name: `drawn${index}`,
      instructions: 'You book items, then say that you are done.',
      chain: chain === 'two routes' ? [first, second] : [first],
      tools: [toolOf(drawn, ledger)],
      limits: limitsOf(drawn) ?? {},
    },
  };
}
