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

/** The stored outputs that a conversation names. */
export function storedOutputs(messages: readonly Message[]): StoredOutputs {
  const found = new Map<ContentHash, string>();
  for (const message of messages) {
    if (message.role === 'tool')
      for (const { name, blob } of message.results)
        if (blob !== undefined) found.set(blob, `output of ${name}`);
    for (const { ref, type, removed } of mediaOf(message))
      if (removed === true) found.set(ref, type === 'image' ? 'an image' : 'a document');
    if (message.role === 'user')
      for (const ref of message.refs ?? [])
        found.set(ref, message.summary === undefined ? 'a shortened text' : 'the summary');
  }
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
