/** The providers of an agent's chain, which send to the emulator through the vendors' real SDKs. */
import type { AgentDefinition } from '../../activities/definitions/agent';
import { UserError } from '../../activities/lifecycle/user-error';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import type { PresetName } from '../../activities/providers/presets';
import { presetNames, presetProvider } from '../../activities/providers/presets';
import type { Provider } from '../../activities/providers/provider';
import type { EmulatorOptions, VendorEmulator } from '../emulator/emulator';
import { chatServers } from '../emulator/openai-chat/servers/chat-servers';
import type { ChatServerName } from '../emulator/step';
import type { WireName } from '../emulator/wire';

/** Wires of providers with names of their own. */
export type WiresByProvider = Readonly<Record<string, WireName>>;

/** The built-in ones. */
const knownWires: WiresByProvider = { anthropic: 'anthropic', openai: 'responses' };

const isPreset = (name: string): name is PresetName =>
  presetNames.some((preset) => preset === name);
const isServer = (name: string): name is ChatServerName => Object.hasOwn(chatServers, name);

/** Servers of the Chat Completions wire that the emulator plays under the names of their presets. */
export const playedServers: NonNullable<EmulatorOptions['servers']> = Object.fromEntries(
  presetNames.flatMap((name) => (isServer(name) ? [[name, name]] : [])),
);

function providerNames(agents: readonly AgentDefinition[]): ReadonlySet<string> {
  return new Set(agents.flatMap(({ chain }) => chain.map(({ provider }) => provider)));
}

/** Errors: `UserError` for a provider whose wire nobody has named, and for a wire of a provider that no agent has. */
export function checkWires(agents: readonly AgentDefinition[], wires: WiresByProvider): void {
  const names = providerNames(agents);
  const unknown = [...names].find(
    (name) => !Object.hasOwn({ ...knownWires, ...wires }, name) && !isPreset(name),
  );
  if (unknown !== undefined)
    throw new UserError(
      `testAgent: the chain names the provider "${unknown}", whose API is not known. Say which it speaks: wires: { '${unknown}': 'anthropic' }, or 'responses' or 'chat'.`,
    );
  const unused = Object.keys(wires).find((name) => !names.has(name));
  if (unused !== undefined)
    throw new UserError(
      `testAgent: wires names the provider "${unused}", which no chain has. Its chains have ${[...names].join(', ')}.`,
    );
}

/** A provider for each name in the chains. */
export function emulatedProviders(
  agents: readonly AgentDefinition[],
  wires: WiresByProvider,
  emulator: VendorEmulator,
): readonly Provider[] {
  const apiKey = 'none';
  return [...providerNames(agents)].map((name) => {
    const wire = wires[name] ?? knownWires[name] ?? 'chat';
    const config = { name, apiKey, baseUrl: emulator.baseUrl(wire, name) };
    if (wire === 'anthropic') return anthropicProvider(config);
    return isPreset(name) && wires[name] === undefined
      ? presetProvider(name, config)
      : openaiProvider({ ...config, api: wire });
  });
}
