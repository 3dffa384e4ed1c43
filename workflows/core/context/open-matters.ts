/** What a summary of the conversation must hold whatever a model leaves out: read off the run's state. */
import { blockerText } from '../recovery/progress';
import type { FailedCall } from '../recovery/action';
import type { RunState } from '../run/state';
import { pendingItems } from '../view/status';

/** Matters of a run that are open now. Every text is bounded. */
export interface OpenMatters {
  /** Head of the goal, word for word. */
  readonly goal: string;
  /** What waits for a person, in words. */
  readonly approvals: readonly string[];
  /** Errors that nothing has healed yet. */
  readonly errors: readonly string[];
}

/** Characters of the goal that every summary repeats (ADR 0024); the whole stays readable in the store. */
const goalHeadChars = 4_000;

const mostErrors = 8;
const matterChars = 300;

/** Failures of tools that no success of the same tool has mended; a mistake in a reply is mended by anything that works. */
function openFailures({ progress, unhealed }: RunState): readonly FailedCall[] {
  return progress.memory.failures.filter(
    ({ tool, code }) => unhealed.includes(code) || (tool !== '' && code !== 'invalid_tool'),
  );
}

/** Reads the open matters. Contract: pure; at most about 10,000 characters. */
export function openMatters(state: RunState): OpenMatters {
  const errors = openFailures(state).slice(-mostErrors).map(blockerText);
  const approvals = pendingItems(state).map((item) =>
    item.type === 'approval'
      ? `approval of ${item.tool} ${item.label ?? ''} (${item.approvalId})`.trim()
      : `an answer: ${item.question}`,
  );
  return {
    goal: state.request.goal.slice(0, goalHeadChars),
    approvals: approvals.slice(0, mostErrors).map((text) => text.slice(0, matterChars)),
    errors: errors.map((text) => text.slice(0, matterChars)),
  };
}
