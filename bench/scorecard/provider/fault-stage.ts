/** Sets the stage of each row: its own routes, agent and tool, so that no two rows share anything that fails. */
import { z } from 'zod';
import type { AgentDefinition, RouteDefinition } from '../../../activities/definitions/agent';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { chatDialects, type ChatDialect } from '../../../activities/providers/openai/chat-dialect';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import type { Provider } from '../../../activities/providers/provider';
import { defineTool } from '../../../activities/tools/define-tool';
import type { ChatServerName } from '../../../testing/emulator/step';
import type { WireName } from '../../../testing/emulator/wire';
import type { Limits } from '../../../workflows/core/limits';
import { scorecardKey } from './judge-fault';
import type { ProviderFault } from './provider-fault';
import { streamRetries } from './provider-fault';
import type { Vendors } from './provider-world';

/** A row with everything that is its own. */
export interface StagedFault {
  readonly fault: ProviderFault;
  readonly agent: AgentDefinition;
  readonly providers: readonly Provider[];
  /** Mounts on the emulator, which are the names of the providers too. */
  readonly mounts: { readonly faulty: string; readonly second: string };
  /** Inputs with which the tool ran, as they come. */
  readonly toolRuns: string[];
}

/** A model of each wire that the SDKs know. */
const models: Readonly<Record<WireName, string>> = {
  anthropic: 'claude-sonnet-5',
  responses: 'gpt-5',
  chat: 'gpt-5',
};

/** The second route speaks another vendor's wire. */
const otherWire: Readonly<Record<WireName, WireName>> = {
  anthropic: 'responses',
  responses: 'anthropic',
  chat: 'anthropic',
};

const windowTokens = 200_000;
const maxOutputTokens = 1_024;

/** Long enough never to end: a row decides within one run, so a route that rests must not come back within it. */
const restMs = 600_000;

/**
 * Small enough that all rows run in a minute; the deadlines are far above what a loaded machine needs for one answer.
 *
 * The retry's delay is the smallest that still shows the growth; test/faults covers the real one (R-STREAM-3).
 */
const scorecardLimits: Partial<Limits> = {
  maxIterations: 8,
  streamRetries,
  streamRetryBaseMs: 5,
  firstByteMs: 30_000,
  betweenBytesMs: 30_000,
  maxProviderWaitMs: 0,
  cooldownMs: {
    auth: restMs,
    rate_limit: restMs,
    billing: restMs,
    timeout: restMs,
    overloaded: restMs,
    model_not_found: restMs,
    format: 0,
    network: restMs,
    context_overflow: 0,
    content_filter: 0,
    unknown: restMs,
  },
};

function providerOn(
  wire: WireName,
  name: string,
  baseUrl: string,
  dialect: ChatDialect = chatDialects.openai,
): Provider {
  const account = { name, apiKey: scorecardKey, baseUrl };
  switch (wire) {
    case 'anthropic':
      return anthropicProvider(account);
    case 'responses':
      return openaiProvider({ ...account, api: 'responses' });
    case 'chat':
      return openaiProvider({ ...account, api: 'chat', dialect });
  }
}

function faultyBaseUrl({ wire, address }: ProviderFault, mount: string, vendors: Vendors): string {
  const url = vendors.emulator.baseUrl(wire, mount);
  switch (address) {
    case 'emulator':
      return url;
    case 'closed-port':
      return url.replace(/:\d+/, `:${vendors.closedPort}`);
    case 'tls-on-plain-port':
      return url.replace('http:', 'https:');
  }
}

function mountsOf(index: number): StagedFault['mounts'] {
  return { faulty: `row${index}-faulty`, second: `row${index}-second` };
}

/** Whom the emulator plays for which row. */
export function playedServers(
  faults: readonly ProviderFault[],
): Readonly<Record<string, ChatServerName>> {
  return Object.fromEntries(
    faults.flatMap(({ server }, index) =>
      server === undefined ? [] : [[mountsOf(index).faulty, server] as const],
    ),
  );
}

/** Builds a row's own routes, agent and tool. */
export function stageFault(fault: ProviderFault, index: number, vendors: Vendors): StagedFault {
  const mounts = mountsOf(index);
  const { wire } = fault;
  const secondWire = otherWire[wire];
  const toolRuns: string[] = [];
  const note = defineTool({
    name: 'note',
    description: 'Notes a text.',
    input: z.object({ text: z.string() }),
    effect: 'keyed',
    execute: ({ text }) => {
      toolRuns.push(text);
      return `noted ${text}`;
    },
  });
  const route = (provider: string, model: string): RouteDefinition => ({
    provider,
    model,
    windowTokens,
    maxOutputTokens,
  });
  const first = {
    // The name of a model of OpenAI would bring OpenAI's own rules.
    ...route(mounts.faulty, fault.dialect === undefined ? models[wire] : 'local-model'),
    maxOutputTokens: fault.maxOutputTokens ?? maxOutputTokens,
    ...(fault.onRefusedRequest === undefined ? {} : { onRefusedRequest: fault.onRefusedRequest }),
  };
  const second = route(mounts.second, models[secondWire]);
  return {
    fault,
    mounts,
    toolRuns,
    providers: [
      providerOn(wire, mounts.faulty, faultyBaseUrl(fault, mounts.faulty, vendors), fault.dialect),
      providerOn(secondWire, mounts.second, vendors.emulator.baseUrl(secondWire, mounts.second)),
    ],
    agent: {
      name: `row${index}`,
      instructions: 'You note what you are told, then say that you are done.',
      chain: fault.second === undefined ? [first] : [first, second],
      tools: [note],
      limits: { ...scorecardLimits, ...fault.limits },
    },
  };
}
