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
 * What an attempt starts its work with; for a call without a record (`read`), the store is not asked.
 *
 * Contract: work starts only if the attempt was neither stopped nor given up, and the store says that it owns the call; the
 * former is asked again after the store has answered. An attempt that has marked its call as executing, and then may not
 * start it, takes the mark back if it still owns the call.
 * Errors: `worker_lost` or CancelledFailure if the work was not started; those of the store and of the work.
 */
export function startingOwned(
  { stopped, isGivenUp, ownedWhile }: AttemptSigns,
  store: Store,
  owned: OwnedTool | undefined,
): StartWork {
  let isUnstarted = owned?.type === 'begun';
  const requireCounted = (): void => {
    const interrupted = interruption();
    if (stopped.aborted) throw interrupted ?? stopped.reason;
    if (interrupted !== undefined || isGivenUp()) throw lostOwnership('its heartbeat was late');
  };
  return async (work) => {
    requireCounted();
    if (owned !== undefined) {
      const { owner, intent } = owned;
      const moves = (): Promise<boolean> => store.moveTool(intent.key, owner, 'executing');
      if (!(await moves())) throw lostOwnership('another attempt has taken it over');
      try {
        requireCounted();
      } catch (thrown) {
        // Without it, the next attempt takes the call for one that may have taken effect.
        if (isUnstarted) await store.moveTool(intent.key, owner, 'begun').catch(() => undefined);
        throw thrown;
      }
      isUnstarted = false;
      ownedWhile(moves);
    }
    return work();
  };
}
