/** What one attempt of a model call hands to the next: carried by heartbeat details, so it survives a worker. */
import type { InfraError } from '../workflows/core/failure';
import { infraPolicies } from '../workflows/core/failure-policy';

/** Memory of earlier attempts of one model call on one route. */
export interface AttemptMemory {
  /** Codes of the provider's failures so far, oldest first. A worker's death adds none. */
  readonly failures: readonly InfraError['code'][];
  /** Text that had arrived when the last attempt broke. */
  readonly partialText: string;
}

/** Nothing happened yet. */
export const freshMemory: AttemptMemory = { failures: [], partialText: '' };

/** Characters of partial text that travel in heartbeat details. */
export const memoryTextChars = 2_000;

function isCode(value: unknown): value is InfraError['code'] {
  return typeof value === 'string' && Object.hasOwn(infraPolicies, value);
}

/** Reads the heartbeat details of the attempt before; anything unreadable counts as nothing. */
export function readMemory(details: unknown): AttemptMemory {
  if (typeof details !== 'object' || details === null) return freshMemory;
  const { failures, partialText } = details as Record<string, unknown>;
  return {
    failures: Array.isArray(failures) ? failures.filter(isCode) : [],
    partialText: typeof partialText === 'string' ? partialText : '',
  };
}
