/** The feature learning: runs record their errors, patterns are extracted from them, and recovery uses the patterns. */
import type { Feature } from '../definitions/activity-deps';
import { loadDefinition, storeOf } from '../definitions/activity-deps';
import type { LearningHooks } from '../definitions/feature-hooks';
import { extractPatterns } from '../extract-patterns';
import { withHeartbeat } from '../lifecycle/activity-lifecycle';
import { InfraException } from '../lifecycle/infra-exception';
import { recordErrors } from './record-errors';
import { lookupPattern } from './use-patterns';

const hooks: LearningHooks = {
  async record(store, config, messages, errors) {
    if (errors.length === 0) return;
    try {
      await recordErrors(store, config, messages, errors);
    } catch (thrown) {
      if (!(thrown instanceof InfraException)) throw thrown;
    }
  },

  suggest: (store, question) =>
    store
      .now()
      .then((nowMs) => lookupPattern(store, question, nowMs))
      .catch(() => undefined),
};

/** Records errors beside model calls and at a run's end, extracts patterns, and suggests learned fixes. */
export const learning: Feature = {
  hooks: () => ({ learning: hooks }),
  activities: (deps) => ({
    async recordObservations({ storeId, definition, head, observations }) {
      const store = storeOf(deps, storeId);
      const { config } = await loadDefinition(deps, definition);
      await recordErrors(store, config, await store.loadTranscript(head), observations);
    },
    extractPatterns: () =>
      withHeartbeat(
        () => undefined,
        async () => extractPatterns(deps.store.patterns, await deps.store.now()),
      ),
  }),
};
