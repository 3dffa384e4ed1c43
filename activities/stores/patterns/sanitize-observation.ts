/** The last check before an observation is stored: no secret and nothing unbounded enters the store. */
import { sanitizeText } from '../../untrusted/sanitizer';
import type { Fix, Observation, ParameterChange } from './pattern-shape';

/** Characters of the error's text and of a name; parameters and changes of one observation (ADR 0027). */
const errorTextChars = 300;
const nameChars = 64;
const mostChanges = 8;
const constantChars = 100;

function clean(text: string, maxChars: number): string {
  return sanitizeText(text, { maxChars });
}

function sanitizeChange(change: ParameterChange): ParameterChange {
  const parameter = clean(change.parameter, nameChars);
  switch (change.type) {
    case 'from-result':
      return { ...change, parameter, tool: clean(change.tool, nameChars) };
    case 'copied':
      return { ...change, parameter, from: clean(change.from, nameChars) };
    case 'constant':
      return typeof change.value === 'string'
        ? { ...change, parameter, value: clean(change.value, constantChars) }
        : { ...change, parameter };
    case 'transformed':
    case 'changed':
      return { ...change, parameter };
  }
}

function sanitizeFix(fix: Fix): Fix {
  return {
    strategy: fix.strategy,
    toolName: clean(fix.toolName, nameChars),
    changes: fix.changes.slice(0, mostChanges).map(sanitizeChange),
  };
}

/** An observation that may be stored. */
export function sanitizeObservation(observation: Observation): Observation {
  const { fix } = observation;
  return {
    ...observation,
    tool: clean(observation.tool, nameChars),
    errorText: clean(observation.errorText, errorTextChars),
    ...(fix === undefined ? {} : { fix: sanitizeFix(fix) }),
  };
}
