import { percentile } from './percentile.js';

function durationsByRoute(requests) {
  const groups = new Map();
  for (const { route, durationMs } of requests) {
    const durations = groups.get(route) ?? [];
    durations.push(durationMs);
    groups.set(route, durations);
  }
  return groups;
}

/** One summary per route, the slowest routes first. */
export function summariseRoutes(requests) {
  return [...durationsByRoute(requests)]
    .map(([route, durations]) => ({
      route,
      count: durations.length,
      medianMs: percentile(durations, 50),
      p95Ms: percentile(durations, 95),
      slowestMs: Math.max(...durations),
    }))
    .sort((left, right) => right.p95Ms - left.p95Ms);
}
