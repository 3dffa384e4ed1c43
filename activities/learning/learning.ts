/** The feature learning: runs record their errors, patterns are extracted from them, and recovery uses the patterns. */
import { recoveryInstructions } from '../../workflows/core/errors/recovery-message';
import type { AgentErrorCode } from '../../workflows/core/failure';
import { defined } from '../../workflows/core/json';
import type { Feature } from '../definitions/activity-deps';
import { loadDefinition, storeOf } from '../definitions/activity-deps';
import type { LearningHooks } from '../definitions/feature-hooks';
import { extractPatterns } from '../extract-patterns';
import { withHeartbeat } from '../lifecycle/activity-lifecycle';
import { InfraException } from '../lifecycle/infra-exception';
import { defaultTenant, readResults, recordErrors } from './record-errors';
import { lookupPattern } from './use-patterns';

function isAgentErrorCode(code: string): code is AgentErrorCode {
  return Object.hasOwn(recoveryInstructions, code);
}

const hooks: LearningHooks = {
  async record(store, config, messages, errors) {
    if (errors.length === 0) return;
    try {
      await recordErrors(store, config, messages, errors);
    } catch (thrown) {
      if (!(thrown instanceof InfraException)) throw thrown;
    }
  },

  async suggest(store, { config, trouble, messages, nowMs }) {
    const { tool, code, message, input } = trouble;
    if (!isAgentErrorCode(code)) return undefined;
    const context = {
      tenant: config.tenant ?? defaultTenant,
      tool,
      errorCode: code,
      errorMessage: message,
      ...defined({ input }),
      results: readResults(messages),
      tools: config.tools.map(({ name }) => name),
    };
    try {
      return await lookupPattern(store.patterns, context, nowMs);
    } catch {
      return undefined;
    }
  },
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
        () => extractPatterns(deps.store.patterns, deps.clock()),
      ),
  }),
};
