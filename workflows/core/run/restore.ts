/** Restores the state that a segment passed on. */
import { invariant } from '../invariant';
import type { RunState } from './state';
import { initialSlices } from './state';

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRunState(value: Record<string, unknown>): value is Record<string, unknown> & RunState {
  return (
    value['schemaVersion'] === 1 &&
    typeof value['runKey'] === 'string' &&
    isRecord(value['phase']) &&
    isRecord(value['counters']) &&
    isRecord(value['breaker'])
  );
}

/**
 * The state of the next segment. A slice that a later version adds starts with its first value.
 *
 * Contract: a state of an unknown version fails the workflow task, so that a worker with the right version takes it.
 */
export function restoreRunState(value: unknown): RunState {
  invariant(isRecord(value), 'the state of the previous segment is not an object');
  const version = JSON.stringify(value['schemaVersion']);
  invariant(isRunState(value), `this version reads state of schema version 1, not ${version}`);
  return { ...initialSlices, ...value };
}
