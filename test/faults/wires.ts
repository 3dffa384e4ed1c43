/** The three wires, each with a provider of the agent world and an agent that has only this one route. */
import type { AgentDefinition } from '../../activities/definitions/agent';
import type { Tool } from '../../activities/tools/tool';
import type { VendorEmulator } from '../../testing/emulator/emulator';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { WireName } from '../../testing/emulator/wire';
import { otherModel, testModel } from '../support/agent-world';

/** A wire, and the route that speaks it. */
export interface WireRoute {
  readonly wire: WireName;
  readonly provider: string;
  readonly model: string;
  /** Of models under names of their own, whose windows nobody knows. */
  readonly windowTokens: number;
}

/** One route per wire. */
export const wireRoutes: readonly WireRoute[] = [
  { wire: 'anthropic', provider: 'anthropic', model: testModel, windowTokens: 200_000 },
  { wire: 'responses', provider: 'openai', model: otherModel, windowTokens: 272_000 },
  { wire: 'chat', provider: 'chat', model: otherModel, windowTokens: 272_000 },
];

/** The same models under names of their own, so that no route is shared with another run: all runs share a route's health. */
export function wireRoutesOf(set: number): readonly WireRoute[] {
  return wireRoutes.map((route) => ({ ...route, model: `${route.model}-${set}` }));
}

/** One agent per wire in each of `sets` sets, named `<wire>-<set>`. */
export function wireAgents(
  sets: number,
  tools: readonly Tool[],
  limits: AgentDefinition['limits'] = {},
): readonly AgentDefinition[] {
  return Array.from({ length: sets }, (_, set) =>
    wireRoutesOf(set).map(({ wire, ...route }) => ({
      name: `${wire}-${set}`,
      instructions: 'You work with tools.',
      chain: [route] as const,
      tools,
      limits,
    })),
  ).flat();
}

/** Requests on that wire since there were `before` requests in all. */
export function requestsOf(
  emulator: VendorEmulator,
  wire: WireName,
  before: number,
): readonly RecordedRequest[] {
  return emulator.requests.slice(before).filter((request) => request.wire === wire);
}

/** Every request's answer is out, or its fault has struck. */
export function expectAllLanded(requests: readonly RecordedRequest[]): void {
  expect(requests.map(({ progress }) => progress.landed)).toEqual(requests.map(() => true));
}
