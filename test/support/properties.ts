/** fast-check with as many cases as the machine has time for: all of them in CI, a fifth on a developer's. */
import fc from 'fast-check';

const isCi = process.env['CI'] === 'true';
/** Fewer cases would miss what their property is about. */
const fewestCases = 25;

fc.configureGlobal(cases(100));

/** Options of a property that runs this many cases in CI. */
export function cases(inCi: number): { readonly numRuns: number } {
  return { numRuns: isCi ? inCi : Math.min(inCi, Math.max(fewestCases, Math.ceil(inCi / 5))) };
}

export { fc };
