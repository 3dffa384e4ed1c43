/** How long the event loop of this process was held by its own work. */

import { readFileSync } from 'node:fs';

/** Milliseconds between two looks. */
const everyMs = 10;

/** Milliseconds for which this thread has used the processor; where the system does not say, the whole process. */
function usedMs(): number {
  try {
    // Linux: nanoseconds on the processor, nanoseconds in its queue, turns.
    const [used = ''] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ');
    return Number(used) / 1_000_000;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}

/**
 * Watches until `stop`, which gives the longest hold in whole milliseconds.
 *
 * Contract: a gap counts only as far as this thread used the processor in it, so that a busy machine is not taken for a held loop.
 */
export function watchLoop(): { stop(): number } {
  let lastMs = performance.now();
  let lastUsedMs = usedMs();
  let longestMs = 0;
  const timer = setInterval(() => {
    const gapMs = performance.now() - lastMs - everyMs;
    longestMs = Math.max(longestMs, Math.min(gapMs, usedMs() - lastUsedMs));
    lastMs = performance.now();
    lastUsedMs = usedMs();
  }, everyMs);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.round(longestMs);
    },
  };
}
