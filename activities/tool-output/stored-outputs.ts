/** Which stored outputs a conversation names: nothing else can be read, and `read_output` is offered only where there is one. */
import type { ContentHash, Message } from '../../workflows/core/message';
import { readOutputTool } from '../../workflows/core/tools/ports';
import { mediaOf } from '../providers/request/sendable-media';
import { perObject } from '../providers/request/per-object';
import type { RunDefinition } from '../definitions/activity-deps';
import type { RunConfig } from '../definitions/run-config';

/** Refs that the runtime put into a conversation, oldest first, each with what it is. */
export type StoredOutputs = ReadonlyMap<ContentHash, string>;

/** A run's definition as a request offers it. */
export interface OfferedDefinition extends RunDefinition {
  readonly outputs: StoredOutputs;
}

type NamedOutput = readonly [ref: ContentHash, what: string];

const namedIn = perObject((message: Message): readonly NamedOutput[] => {
  const media = mediaOf(message)
    .filter(({ removed }) => removed === true)
    .map(({ ref, type }): NamedOutput => [ref, type === 'image' ? 'an image' : 'a document']);
  if (message.role === 'tool')
    return message.results
      .flatMap(({ name, blob }): NamedOutput[] => (blob ? [[blob, `output of ${name}`]] : []))
      .concat(media);
  if (message.role !== 'user') return media;
  const what = message.summary === undefined ? 'a shortened text' : 'the summary';
  return media.concat((message.refs ?? []).map((ref): NamedOutput => [ref, what]));
});

/** The stored outputs that a conversation names. */
export function storedOutputs(messages: readonly Message[]): StoredOutputs {
  const found = new Map<ContentHash, string>();
  for (const message of messages) for (const [ref, what] of namedIn(message)) found.set(ref, what);
  return found;
}

/** The same object at each call of a run, so that what depends on its tools is made once. */
const withoutReadOutput = perObject((config: RunConfig): RunConfig => {
  return { ...config, tools: config.tools.filter(({ name }) => name !== readOutputTool) };
});

/**
 * The definition with the tools that a request on this conversation offers.
 *
 * Contract: pure. Messages are only ever added, or replaced by a summary, which is stored too: once `read_output` is offered
 * to a run it stays, so that the vendors' prompt caches lose the list of tools once at most (R-WORDS-1).
 */
export function offered(
  { config, ...definition }: RunDefinition,
  messages: readonly Message[],
): OfferedDefinition {
  const outputs = storedOutputs(messages);
  return { ...definition, config: outputs.size > 0 ? config : withoutReadOutput(config), outputs };
}

/** Refs that a hint lists, the newest: each takes about 80 of its 500 characters. */
const listedRefs = 4;

/** What can be read instead of a ref that is none, for the model; undefined if the ref may be read. */
export function refHint(outputs: StoredOutputs | undefined, ref: unknown): string | undefined {
  if (outputs === undefined || (typeof ref === 'string' && outputs.has(ref))) return undefined;
  const newest = [...outputs].slice(-listedRefs).reverse();
  return `What can be read: ${newest.map(([each, what]) => `"${each}" (${what})`).join(', ')}.`;
}
