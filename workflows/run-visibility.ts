/** Shows a run in the Web UI: current details on every step, search attributes only when they change. */
import type { SearchAttributePair } from '@temporalio/common';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { searchAttributes } from './contract';
import type { RunState } from './core/run/state';
import { statusMarkdown } from './core/view/markdown';
import { pendingItems } from './core/view/pending';
import { statusView } from './core/view/status';
import { shortened } from './core/shortened';
import { encodesFailures } from './message-payload';

const keys = {
  agent: defineSearchAttributeKey(searchAttributes.agent, SearchAttributeType.KEYWORD),
  status: defineSearchAttributeKey(searchAttributes.status, SearchAttributeType.KEYWORD),
  provider: defineSearchAttributeKey(searchAttributes.provider, SearchAttributeType.KEYWORD),
  reason: defineSearchAttributeKey(searchAttributes.reason, SearchAttributeType.KEYWORD),
  iteration: defineSearchAttributeKey(searchAttributes.iteration, SearchAttributeType.INT),
};

/** Longest value of a search attribute, in characters: far below the server's 2 KB. */
const attributeChars = 200;

/** Search attributes for a child run: only if the workflow that starts it has them, since the namespace knows them then. */
export function inheritedSearchAttributes(agent: string): {
  readonly typedSearchAttributes?: SearchAttributePair[];
} {
  return isRegistered() ? { typedSearchAttributes: firstAttributes(agent) } : {};
}

/** What a run is found by from its start. */
export function firstAttributes(agent: string): SearchAttributePair[] {
  return [
    { key: keys.agent, value: agent },
    { key: keys.status, value: 'running' },
  ];
}

function isRegistered(): boolean {
  return workflowInfo()
    .typedSearchAttributes.getAll()
    .some(({ key }) => key.name === searchAttributes.agent);
}

/**
 * Makes what shows the state of the run after each step of one segment.
 *
 * Contract: search attributes are written only if the run was started with them, since a namespace that does not know
 * them would refuse the whole workflow task.
 */
export function createRunVisibility(): (state: RunState) => void {
  const registered = isRegistered();
  const { workflowId } = workflowInfo();
  // Search attributes are never encrypted. How often they are written stays the same, as a replay may have other keys.
  const hidesContent = encodesFailures();
  let shown = '';
  return (state) => {
    const view = statusView(state);
    setCurrentDetails(statusMarkdown(workflowId, view, pendingItems(state)));
    if (!registered) return;
    const provider = view.route ?? '';
    const reason = shortened(view.reason ?? '', attributeChars);
    const now = [view.status, provider, reason].join('\n');
    if (now === shown) return;
    shown = now;
    upsertSearchAttributes([
      { key: keys.status, value: view.status },
      { key: keys.provider, value: provider === '' ? null : provider },
      { key: keys.reason, value: reason === '' || hidesContent ? null : reason },
      { key: keys.iteration, value: view.iteration },
    ]);
  };
}
