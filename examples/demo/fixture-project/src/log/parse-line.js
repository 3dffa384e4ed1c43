import { routeOf } from './route-of.js';

const line = /^(\S+) ([A-Z]+) (\S+) (\d{3}) (\d+(?:\.\d+)?)(ms|s)$/;

/** One request of an access log, or undefined for a line that cannot be read. */
export function parseLine(text) {
  const match = line.exec(text.trim());
  if (match === null) return undefined;
  const [, at, method, path, status, amount, unit] = match;
  return {
    at: new Date(at),
    method,
    route: routeOf(path),
    status: Number(status),
    durationMs: Number(amount) * (unit === 's' ? 1000 : 1),
  };
}
