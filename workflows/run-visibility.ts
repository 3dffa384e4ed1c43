/** Shows a run in the Web UI: current details on every step, search attributes only when they change. */
import type { SearchAttributePair } from '@temporalio/common';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { searchAttributes } from './contract';
import { defaultTenant } from './core/limits';
import type { RunRequest } from './core/run/ports';
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
  tenant: defineSearchAttributeKey(searchAttributes.tenant, SearchAttributeType.KEYWORD),
  usd: defineSearchAttributeKey(searchAttributes.usd, SearchAttributeType.DOUBLE),
};

/** Longest value of a search attribute, in characters: far below the server's 2 KB. */
const attributeChars = 200;

/** Search attributes for a child run: only if the workflow that starts it has them, since the namespace knows them then. */
export function inheritedSearchAttributes(request: RunRequest): {
  readonly typedSearchAttributes?: SearchAttributePair[];
} {
  if (!hasAttribute(searchAttributes.agent)) return {};
  const all = firstAttributes(request);
  const isTenantKnown = hasAttribute(searchAttributes.tenant);
  return {
    typedSearchAttributes: isTenantKnown ? all : all.filter(({ key }) => key !== keys.tenant),
  };
}

/** What a run is found by from its start. */
export function firstAttributes({
  agent,
  tenant = defaultTenant,
}: Pick<RunRequest, 'agent' | 'tenant'>): SearchAttributePair[] {
  return [
    { key: keys.agent, value: agent },
    { key: keys.status, value: 'running' },
    { key: keys.tenant, value: tenant },
  ];
}

function hasAttribute(name: string): boolean {
  return workflowInfo()
    .typedSearchAttributes.getAll()
    .some(({ key }) => key.name === name);
}

/**
 * A text that is written only when a query reads the details: the SDK keeps what it is given, and makes JSON of it for the Web UI.
 * To write it after each step took more than the step (ADR 0066).
 */
function writtenWhenRead(write: () => string): string {
  const text: { toJSON: () => string } = { toJSON: write };
  return text as unknown as string;
}

/**
 * Makes what shows the state of the run after each step of one segment.
 *
 * Contract: search attributes are written only if the run was started with them, since a namespace that does not know
 * them would refuse the whole workflow task.
 */
export function createRunVisibility(): (state: RunState) => void {
  const registered = hasAttribute(searchAttributes.agent);
  const showsCost = hasAttribute(searchAttributes.tenant);
  const { workflowId } = workflowInfo();
  // Search attributes are never encrypted. How often they are written stays the same, as a replay may have other keys.
  const hidesContent = encodesFailures();
  let shown = '';
  let latest: RunState | undefined;
  setCurrentDetails(
    writtenWhenRead(() =>
      latest === undefined
        ? ''
        : statusMarkdown(workflowId, statusView(latest), pendingItems(latest)),
    ),
  );
  return (state) => {
    latest = state;
    if (!registered) return;
    const view = statusView(state);
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
      ...(showsCost
        ? [{ key: keys.usd, value: view.cost.usd ?? view.cost.pricedUsd ?? null }]
        : []),
    ]);
  };
}
