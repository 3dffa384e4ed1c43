/** A store as the gateway reads it: each answer comes within a bounded time, or is 503. */
import { isStoreDown } from '../../activities/lifecycle/infra-exception';
import type { Store } from '../../activities/stores/store';
import { ClientError, reasonOf } from '../../client/client-error';
import { NoAnswerError, within } from '../../server/http/within';
import type { GatewayStore } from '../../server/ports';
import { shownPattern } from './display/pattern-text';
import { switchPattern } from './switch-pattern';

/** Contract: whoever opened the store closes it. Errors: `unreachable` for a store that is silent for `limitMs`, or down. */
export function gatewayStore(store: Store, limitMs: number): GatewayStore {
  const { id, label } = store;
  const answer = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await within(limitMs, work());
    } catch (thrown) {
      if (!isStoreDown(thrown) && !(thrown instanceof NoAnswerError)) throw thrown;
      const problem = `The store ${label} does not answer: ${reasonOf(thrown)}`;
      throw new ClientError('unreachable', problem, { cause: thrown });
    }
  };
  return {
    id,
    label,
    loadTranscript: (head) => answer(() => store.loadTranscript(head)),
    listHealth: () => answer(() => store.listHealth()),
    check: () => answer(() => store.check()),
    patterns: (tenant) =>
      answer(async () => {
        const [found, nowMs] = await Promise.all([store.patterns.patterns(tenant), store.now()]);
        return found.map((pattern) => shownPattern(pattern, nowMs));
      }),
    pattern: (id) =>
      answer(async () => {
        const [found, nowMs] = await Promise.all([store.patterns.pattern(id), store.now()]);
        return found && shownPattern(found, nowMs);
      }),
    switchPattern: (id, how) =>
      answer(async () => {
        const { pattern, nowMs } = await switchPattern(store, id, how);
        return pattern && shownPattern(pattern, nowMs);
      }),
  };
}
