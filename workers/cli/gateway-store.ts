/** A store as the gateway reads it. */
import type { Store } from '../../activities/stores/store';
import type { GatewayStore } from '../../server/ports';
import { shownPattern } from './display/pattern-text';

/** Contract: whoever opened the store closes it. */
export function gatewayStore(store: Store): GatewayStore {
  const { id, label } = store;
  return {
    id,
    label,
    loadTranscript: (head) => store.loadTranscript(head),
    listHealth: () => store.listHealth(),
    check: () => store.check(),
    async patterns(tenant) {
      const [found, nowMs] = await Promise.all([store.patterns.patterns(tenant), store.now()]);
      return found.map((pattern) => shownPattern(pattern, nowMs));
    },
  };
}
