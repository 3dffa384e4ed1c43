/** Whether an attempt still owns its call, asked right before each start of an effect (ADR 0031). */
import { interruption } from '../lifecycle/activity-lifecycle';
import { InfraException } from '../lifecycle/infra-exception';
import type { OwnedTool, Store } from '../stores/store';
import type { AttemptStop } from './attempts';

/** Thrown by an attempt that no longer counts, before it starts anything: the server gives the call to another one. */
export function lostOwnership(why: string): InfraException {
  return new InfraException({
    code: 'worker_lost',
    message: `This attempt of the call no longer counts, so it starts nothing: ${why}.`,
  });
}

/** An attempt, as it knows itself. */
export interface AttemptSigns extends AttemptStop {
  /** Whether the server may have given the attempt up (`withHeartbeat`). */
  readonly isGivenUp: () => boolean;
}

/** Starts work of a call, a tool's function or its probe, in the same turn in which the attempt was seen to own the call. */
export type StartWork = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * Requires that an attempt still counts.
 *
 * Errors: `worker_lost` or CancelledFailure if it was stopped or given up.
 */
export function requireCounted({ stopped, isGivenUp }: AttemptSigns): void {
  const interrupted = interruption();
  if (stopped.aborted) throw interrupted ?? stopped.reason;
  if (interrupted !== undefined || isGivenUp()) throw lostOwnership('its heartbeat was late');
}

/** Of a call that was marked as executing when it was begun. */
export interface Marked {
  /** Whether the store has said so in this turn of the event loop. */
  readonly isFreshlyMarked?: () => boolean;
}

/** Tells until the next turn of the event loop that this is the same turn. */
export function inThisTurn(): () => boolean {
  let isSame = true;
  setImmediate(() => {
    isSame = false;
  });
  return () => isSame;
}

/**
 * What an attempt starts its work with; for a call without a record (`read`), the store is not asked.
 *
 * Contract: work starts only if the attempt was neither stopped nor given up, and the store says that it owns the call; the
 * former is asked again after the store has answered. An attempt that has marked its call as executing, and then may not
 * start it, takes the mark back if it still owns the call.
 * Errors: `worker_lost` or CancelledFailure if the work was not started; those of the store and of the work.
 */
export function startingOwned(
  signs: AttemptSigns,
  store: Store,
  owned: (OwnedTool & Marked) | undefined,
): StartWork {
  if (owned === undefined)
    return async (work) => {
      requireCounted(signs);
      return work();
    };
  const { owner, intent } = owned;
  const moves = (): Promise<boolean> => store.moveTool(intent.key, owner, 'executing');
  /** Serves the first start only: each repeat asks the store. */
  let { isFreshlyMarked } = owned;
  let isMarked = isFreshlyMarked !== undefined;
  let isUnstarted = owned.type === 'begun';
  return async (work) => {
    try {
      requireCounted(signs);
      if (isFreshlyMarked?.() !== true) {
        if (!(await moves())) throw lostOwnership('another attempt has taken it over');
        isMarked = true;
        requireCounted(signs);
      }
    } catch (thrown) {
      // Without it, the next attempt takes the call for one that may have taken effect.
      if (isMarked && isUnstarted)
        await store.moveTool(intent.key, owner, 'begun').catch(() => undefined);
      throw thrown;
    }
    isUnstarted = false;
    isFreshlyMarked = undefined;
    signs.ownedWhile(moves);
    return work();
  };
}
