/** The engines that are measured, and what each one is. */
import { existsSync } from 'node:fs';
import path from 'node:path';

/** An engine as the benchmark knows it. */
export interface EngineEntry {
  readonly file: 'floor' | 'holdfast' | PeerName;
  readonly variant: string;
  /** A few words for tables. */
  readonly about: string;
  /** Its tool is a local activity: no worker can hold it for the memory cell. */
  readonly isLocal?: true;
}

/** A peer: a package of others that is installed apart. */
export type PeerName = 'ai-sdk' | 'openai-agents';

/** Folders of `bench/peers`. */
export const peerNames: readonly PeerName[] = ['ai-sdk', 'openai-agents'];

/** All engines, by name. The first is what the others are compared with. */
export const engines: Readonly<Record<string, EngineEntry>> = {
  floor: { file: 'floor', variant: 'floor', about: 'two activities, references in history' },
  holdfast: { file: 'holdfast', variant: 'keyed', about: 'Holdfast, a `keyed` tool' },
  'holdfast-read': { file: 'holdfast', variant: 'read', about: 'Holdfast, a `read` tool' },
  'holdfast-quick': {
    file: 'holdfast',
    variant: 'quick',
    about: 'Holdfast, a quick `read` tool, a local activity',
    isLocal: true,
  },
  'floor-local': {
    file: 'floor',
    variant: 'floorLocal',
    about: 'the floor, its tool as a local activity',
    isLocal: true,
  },
  naive: { file: 'floor', variant: 'naive', about: 'two activities, conversation in history' },
  'ai-sdk': { file: 'ai-sdk', variant: 'aiSdkAgent', about: '`@temporalio/ai-sdk`' },
  'openai-agents': {
    file: 'openai-agents',
    variant: 'openaiAgent',
    about: '`@temporalio/openai-agents`',
  },
};

/** True for a file of `bench/peers`. */
export function isPeer(file: EngineEntry['file']): file is PeerName {
  return peerNames.some((name) => name === file);
}

/** The compiled file if this is compiled, else its source. */
export function engineModule(stem: string): string {
  const file = path.join(__dirname, 'engine', stem);
  return existsSync(`${file}.js`) ? `${file}.js` : `${file}.ts`;
}
