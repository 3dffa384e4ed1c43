/** What recovery may not do on its own: a plan that would do it becomes a question to a person. */
import { stopBeforeTools } from '../guard/caps';
import type { ProposedToolCall } from '../tools/ports';
import type { RecoveryTrouble } from './action';
import { exhaustedTools } from './gate';
import { escalateAction } from './heuristics';
import type { Plan } from './state';
import type { RunState } from '../run/state';
import { hasRules } from '../rules';

function isExhausted(state: RunState, { action: { strategy, action } }: Plan): boolean {
  const repeats = strategy === 'retry' || strategy === 'parameter-adjustment';
  return (repeats || hasRules(state, 3)) && exhaustedTools(state).includes(action.toolName);
}

/** The call that the model would make of advice with parameters. */
function advised(name: string): ProposedToolCall {
  return { toolCallId: '', name, fingerprint: '' };
}

/** Why the plan must not be carried out; undefined where it may. */
function problemOf(state: RunState, plan: Plan): string | undefined {
  const { strategy, action } = plan.action;
  if (strategy === 'escalate' || strategy === 'give-up') return undefined;
  const { toolName } = action;
  if (isExhausted(state, plan))
    return `${toolName} was tried twice by recovery and did not get the run on.`;
  if (!hasRules(state, 3)) return undefined;
  if (state.recovery.uncertain?.includes(toolName) === true)
    return `Nobody knows whether the last call of ${toolName} took effect; once more might do it twice.`;
  const call = plan.call ?? (action.parameters === undefined ? undefined : advised(toolName));
  const stop = call === undefined ? undefined : stopBeforeTools(state, [call]);
  return stop === undefined
    ? undefined
    : `${toolName} may not be called again in this run (${stop.reason}).`;
}

/**
 * The plan, or a question to a person where recovery may not carry it out: a tool that was tried twice in vain, one whose last
 * call may have taken effect, and a call that would break a limit of the guard and so end the run.
 *
 * Source: seed 003 (2 retries per tool); issue RECOVERY (never by the guard's hard limit).
 */
export function withinBounds(state: RunState, plan: Plan, trouble: RecoveryTrouble): Plan {
  const why = problemOf(state, plan);
  if (why === undefined) return plan;
  const { call: _unwanted, patternId: _unused, ...rest } = plan;
  return { ...rest, source: 'heuristic', action: escalateAction(state, trouble, why) };
}
