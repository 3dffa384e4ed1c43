/** How long the event loop of this process was held by its own work. */

/** Milliseconds between two looks. */
const everyMs = 10;

/**
 * Watches until `stop`, which gives the longest hold in whole milliseconds.
 *
 * Contract: a gap counts only as far as this process used the processor in it, so that a busy machine is not taken for a held
 * loop. Processor time of other threads counts too: the figure is an upper bound.
 */
export function watchLoop(): { stop(): number } {
  let lastMs = performance.now();
  let lastCpu = process.cpuUsage();
  let longestMs = 0;
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(lastCpu);
    const gapMs = performance.now() - lastMs - everyMs;
    longestMs = Math.max(longestMs, Math.min(gapMs, (user + system) / 1_000));
    lastMs = performance.now();
    lastCpu = process.cpuUsage();
  }, everyMs);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.round(longestMs);
    },
  };
}
