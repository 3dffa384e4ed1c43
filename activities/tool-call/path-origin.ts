/** Checks a path that a rule took from an earlier call against the record of that call. */
import type { Message, ToolResultBlock } from '../../workflows/core/message';
import type { ParameterOrigin } from '../../workflows/core/recovery/action';
import { fittingPaths } from '../../workflows/core/recovery/memory';
import { resultBlock } from '../model-call/pending-results';
import type { Store } from '../stores/store';
import { isFenceStart } from '../untrusted/fence';
import { pathsIn } from '../tool-output/findings';

/** Where whole outputs are. */
export type OutputStore = Pick<Store, 'getBlob'>;

/**
 * The whole output of a result that the model read, without its fence.
 *
 * Errors: `store_unavailable`, `store_corrupt`.
 */
export async function wholeOutput(
  store: OutputStore,
  { content, blob }: Pick<ToolResultBlock, 'content' | 'blob'>,
): Promise<string> {
  if (blob !== undefined) return (await store.getBlob(blob)).toString('utf8');
  const lines = content.split('\n');
  // What an earlier run did has a line of the runtime before the fence (ADR 0037).
  const fence = lines.findIndex(isFenceStart);
  return lines.slice(Math.max(fence, 0) + 1, -1).join('\n');
}

async function outputOf(
  store: Store,
  { toolCallId, result = '' }: ParameterOrigin,
): Promise<string> {
  return wholeOutput(
    store,
    await resultBlock(store, { toolCallId, name: '', result, isError: false }),
  );
}

function isInput(messages: readonly Message[], toolCallId: string, value: string): boolean {
  return messages.some(
    (message) =>
      message.role === 'assistant' &&
      message.blocks.some(
        (block) =>
          block.type === 'tool-call' &&
          block.toolCallId === toolCallId &&
          Object.values(block.input).includes(value),
      ),
  );
}

/**
 * Whether the earlier call still names the path, whole, and no other path that the parameter may have meant.
 *
 * Errors: `store_unavailable`, `store_corrupt`. Source: R-REC-15.
 */
export async function stillNames(
  store: Store,
  messages: readonly Message[],
  origin: ParameterOrigin,
  path: string,
  root: string | undefined,
): Promise<boolean> {
  if (origin.result === undefined) return isInput(messages, origin.toolCallId, path);
  const named = pathsIn(await outputOf(store, origin), root);
  const fitting = fittingPaths(
    named.map((found) => found.path),
    origin.instead,
  );
  const isThere = named.some((found) => found.path === path && found.line === origin.line);
  return isThere && fitting.length === 1;
}
