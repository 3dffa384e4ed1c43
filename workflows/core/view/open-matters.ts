/** What every summary of the conversation must contain, even if the model omits it. */
import type { OpenMatters } from '../context/ports';
import type { ErrorsSlice } from '../errors/state';
import type { FailedCall } from '../recovery/action';
import { blockerText } from '../recovery/stuck';
import type { RecoverySlice } from '../recovery/state';
import type { RequestSlice } from '../run/ports';
import type { PendingState } from './pending';
import { pendingItems } from './pending';
import { shortened } from '../shortened';

/** Characters of the goal that every summary repeats (ADR 0024); the whole stays readable in the store. */
const goalHeadChars = 4_000;

const mostErrors = 8;
const matterChars = 300;

/** Failures of tools that no success of the same tool has healed; a mistake in a reply is healed by anything that works. */
function openFailures({ progress, unhealed }: RecoverySlice & ErrorsSlice): readonly FailedCall[] {
  return progress.memory.failures.filter(
    ({ tool, code }) =>
      unhealed.some((open) => open.code === code) || (tool !== '' && code !== 'invalid_tool'),
  );
}

/** Reads the open matters. Contract: pure; at most about 10,000 characters. */
export function openMatters(
  state: RecoverySlice & ErrorsSlice & RequestSlice & PendingState,
): OpenMatters {
  const errors = openFailures(state).slice(-mostErrors).map(blockerText);
  const approvals = pendingItems(state).map((item) =>
    item.type === 'approval'
      ? `approval of ${item.tool} ${item.label ?? ''} (${item.approvalId})`.trim()
      : `an answer: ${item.question}`,
  );
  return {
    goal: state.request.goal.slice(0, goalHeadChars),
    approvals: approvals.slice(0, mostErrors).map((text) => shortened(text, matterChars)),
    errors: errors.map((text) => shortened(text, matterChars)),
  };
}
