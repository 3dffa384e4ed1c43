/** Where a transcript may be cut: never between a tool call and the results of its batch. */
import type { Message } from '../../workflows/core/message';

/** The cut at `index` or before it, so that no results stand behind a cut without their calls. */
export function cutBefore(messages: readonly Message[], index: number): number {
  let cut = Math.min(Math.max(index, 0), messages.length);
  while (cut > 0 && messages[cut]?.role === 'tool') cut -= 1;
  return cut;
}

/**
 * Index of the first message that is never summarized.
 *
 * Contract: pure; at least `keptTail` messages stand behind it, where there are so many; a batch's calls and results stay
 * together. Source: R-CTX-4.
 */
export function tailStart(messages: readonly Message[], keptTail: number): number {
  return cutBefore(messages, messages.length - keptTail);
}
