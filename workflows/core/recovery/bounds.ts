/** What recovery may not do on its own: a plan that would do it becomes a question to a person. */
import { ringSize, timesInARow } from '../errors/circuit-breaker';
import type { ErrorsSlice } from '../errors/state';
import { stopBeforeTools } from '../guard/call-and-edit-caps';
import type { GuardSlice } from '../guard/state';
import type { CountersSlice } from '../run/account';
import type { SnapshotSlice } from '../run/ports';
import { toolPolicy } from '../run/ports';
import type { GoalSlice } from '../secrets/shown-text';
import type { ProposedToolCall } from '../tools/ports';
import type { RecoveryTrouble } from './action';
import { escalateAction } from './heuristics';
import type { Plan, RecoverySlice } from './state';
import { isHeard } from './state';

/** Tries of one tool by recovery (R-REC-5). */
const maxRetriesPerTool = 2;

/** Tools that recovery may not try any more. */
export function exhaustedTools({ recovery }: RecoverySlice): readonly string[] {
  return Object.entries(recovery.retries).flatMap(([tool, tries]) =>
    tries >= maxRetriesPerTool ? [tool] : [],
  );
}

type Bounded = RecoverySlice & ErrorsSlice & GuardSlice & CountersSlice & GoalSlice & SnapshotSlice;

/** The call that the model would make of advice with parameters. */
function advised(name: string): ProposedToolCall {
  return { toolCallId: '', name, fingerprint: '' };
}

/** Why the plan must not be carried out; undefined if it may. */
function problemOf(state: Bounded, plan: Plan): string | undefined {
  const { strategy, action } = plan.action;
  if (strategy === 'escalate' || strategy === 'give-up') return undefined;
  const { toolName } = action;
  if (exhaustedTools(state).includes(toolName))
    return `Recovery tried ${toolName} twice without progress.`;
  if (plan.call !== undefined && toolPolicy(state, toolName)?.handoff !== undefined)
    return `${toolName} hands the run over, which only the agent itself decides.`;
  if (state.recovery.uncertain?.includes(toolName) === true)
    return `It is unknown whether the last call of ${toolName} took effect; another call might repeat it.`;
  const isLastTry = timesInARow(state.breaker) === ringSize - 1;
  if (isLastTry && isHeard(state) && strategy !== 'alternative-tool')
    return `The same error came ${ringSize - 1} times; the next one ends the run.`;
  return limitOf(state, plan);
}

/** The limit of the guard that the plan's call would pass. */
function limitOf(state: Bounded, { call, action: { action } }: Plan): string | undefined {
  const { toolName, parameters } = action;
  const made = call ?? (parameters === undefined ? undefined : advised(toolName));
  const stop = made && stopBeforeTools(state, [made]);
  return stop && `${toolName} may not be called again in this run (${stop.reason}).`;
}

/**
 * The plan, or a question to a person if recovery may not carry it out: a tool that recovery tried twice, one whose last
 * call may have taken effect, a handoff, one more try before the breaker's last slot, and a call that would pass a limit of the
 * guard and so end the run.
 *
 * Source: R-REC-5, R-REC-9.
 */
export function withinBounds(state: Bounded, plan: Plan, trouble: RecoveryTrouble): Plan {
  const why = problemOf(state, plan);
  if (why === undefined) return plan;
  const { call: _unwanted, patternId: _unused, ...rest } = plan;
  return { ...rest, source: 'heuristic', action: escalateAction(state, trouble, why) };
}
