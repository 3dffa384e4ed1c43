/** Takes a state over from an earlier segment, perhaps written by an earlier release. */
import { initialSlices } from './initial-slices';
import { invariant } from '../invariant';
import { withEveryLimit } from '../limits-upgrade';
import type { RunState } from './state';

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
 * Restores the state that a segment handed on.
 *
 * Contract: a state of an unknown version fails the workflow task, so that a worker with the right release takes it.
 */
export function restoreRunState(value: unknown): RunState {
  invariant(isRecord(value), 'the state handed on by the segment before is not an object');
  const version = JSON.stringify(value['schemaVersion']);
  invariant(isRunState(value), `this release reads state of schema version 1, not ${version}`);
  const whole: RunState = { ...initialSlices, ...value };
  return whole.snapshot === undefined
    ? whole
    : { ...whole, snapshot: withEveryLimit(whole.snapshot) };
}
