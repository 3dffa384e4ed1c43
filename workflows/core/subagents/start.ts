/** Starts the subagents of a reply: each gets a share of what the run has left, so that all together never pass it. */
import { budgetLeft, reserve } from '../budget/budget';
import type { AgentError } from '../failure';
import { handedCaps, waitingCalls, waitingSubagents } from '../guard/handed-caps';
import { invariant } from '../invariant';
import type { Limits } from '../limits';
import type { ProposedToolCall } from '../tools/ports';
import { publish, step } from '../run/step';
import type { Step } from '../run/step';
import type { RunCommand, RunRequest } from '../run/protocol';
import type { RunState, ToolCallProgress } from '../run/state';
import type { Allowance } from '../budget/spend';
import type { HandedLimits, SubagentPolicy } from './subagent';
import { settleWithError } from '../tools/admission';

/** A call that is to start a subagent. */
export interface SubagentCall {
  readonly call: ProposedToolCall;
  /** Activity id of the call, which is the end of the subagent's id too. */
  readonly callId: string;
  readonly policy: SubagentPolicy;
}

/** Share of what is left that a subagent gets where its definition says nothing (ADR 0021). */
const defaultShare = 0.5;
/** What is left is never given away as a whole: the run must be able to read the answers (ADR 0021). */
const greatestShare = 0.8;

/** The policy of a call that is a subagent and has not answered yet. */
export function subagentPolicy(
  state: RunState,
  call: ProposedToolCall,
): SubagentPolicy | undefined {
  if (call.answer !== undefined) return undefined;
  return state.snapshot?.tools.find((tool) => tool.name === call.name)?.subagent;
}

function wantedShare({ share, budget }: SubagentPolicy): number {
  return share ?? (budget === undefined ? defaultShare : 1);
}

/** What each of the calls may spend. An absent field has no limit. */
function allotments(state: RunState, calls: readonly SubagentCall[]): readonly Allowance[] {
  const left = budgetLeft(state);
  const wanted = calls.reduce((sum, { policy }) => sum + wantedShare(policy), 0);
  const scale = Math.min(1, greatestShare / wanted);
  return calls.map(({ policy }) => {
    const share = wantedShare(policy) * scale;
    const part = (ofRun: number | undefined, own: number | undefined): number | undefined =>
      ofRun === undefined ? own : Math.min(Math.floor(ofRun * share), own ?? Infinity);
    const nanoUsd = part(left.nanoUsd, policy.budget?.nanoUsd);
    const tokens = part(left.tokens, policy.budget?.tokens);
    return {
      ...(nanoUsd === undefined ? {} : { nanoUsd }),
      ...(tokens === undefined ? {} : { tokens }),
    };
  });
}

/** What subagents in flight were handed of a limit. */
function handedOut(state: RunState, limit: 'maxEvents' | 'maxToolCalls'): number {
  if (state.phase.type !== 'running-tools') return 0;
  return state.phase.calls.reduce(
    (sum, { status }) => sum + (status.type === 'delegated' ? status.limits[limit] : 0),
    0,
  );
}

/** What is left of the run's limits, divided by the subagents of the reply, those that wait for approval too; time is not, since they run side by side. */
function handedLimits(
  state: RunState,
  limits: Limits,
  calls: readonly SubagentCall[],
): readonly HandedLimits[] {
  const count = calls.length + waitingSubagents(state).length;
  const part = (limit: 'maxEvents' | 'maxToolCalls', used: number): number =>
    Math.max(Math.floor((limits[limit] - used - handedOut(state, limit)) / count), 0);
  const shared = {
    maxEvents: Math.max(part('maxEvents', state.counters.events), 1),
    maxToolCalls: part('maxToolCalls', state.counters.toolCalls + waitingCalls(state)),
    maxActiveMs: Math.max(limits.maxActiveMs - state.activeMs, 1),
    maxSubagentDepth: limits.maxSubagentDepth,
  };
  const policies = calls.map(({ policy }) => policy);
  return handedCaps(state, policies).map((caps) => ({ ...shared, ...caps }));
}

/** How many runs are above this one. */
function depthOf(state: RunState): number {
  return state.request.parent?.depth ?? 0;
}

function refusal(
  state: RunState,
  { call }: SubagentCall,
  allotment: Allowance,
  limits: Limits,
): AgentError | undefined {
  const refused = (message: string, hint: string): AgentError => ({
    kind: 'agent',
    code: 'subagent_failed',
    message,
    hint,
    recoverable: true,
    toolName: call.name,
  });
  const depth = depthOf(state);
  if (depth >= limits.maxSubagentDepth)
    return refused(
      `The subagent was not started: runs may nest ${limits.maxSubagentDepth} deep (limits.maxSubagentDepth), and ${depth} are above this one.`,
      'Do the work yourself.',
    );
  const isBroke = (allotment.nanoUsd ?? 1) <= 0 || (allotment.tokens ?? 1) <= 0;
  return isBroke
    ? refused('The subagent was not started: no budget is left for it.', 'Do the work yourself.')
    : undefined;
}

/** The id of the run that a call starts: that of this run, and the call's place in it. */
function runIdOf(state: RunState, callId: string): string {
  return `${ownRunId(state)}/${callId}`;
}

/** The workflow id: the run key without the id of its first execution. */
function ownRunId({ runKey }: RunState): string {
  return runKey.slice(0, runKey.lastIndexOf('/'));
}

/** Stands for a task that is too long to travel, where people read. */
const longTask = '(a long task, kept in the store)';

function requestOf(
  state: RunState,
  { call, policy }: SubagentCall,
  handed: HandedLimits,
  allowance: Allowance | undefined,
): RunRequest {
  const { snapshot } = state;
  invariant(snapshot !== undefined, 'a run with calls is prepared');
  const task = call.input?.['task'];
  return {
    agent: policy.agent,
    goal: typeof task === 'string' ? task : longTask,
    storeId: snapshot.storeId,
    ...(snapshot.workspace === undefined ? {} : { workspace: snapshot.workspace }),
    ...(policy.limits === undefined ? {} : { limits: policy.limits }),
    ...(state.request.tenant === undefined ? {} : { tenant: state.request.tenant }),
    parent: {
      runId: ownRunId(state),
      depth: depthOf(state) + 1,
      limits: handed,
      ...(allowance === undefined ? {} : { allowance }),
      ...(call.inputBlob === undefined ? {} : { taskBlob: call.inputBlob }),
    },
  };
}

function replace(state: RunState, next: ToolCallProgress): RunState {
  if (state.phase.type !== 'running-tools') return state;
  const calls = state.phase.calls.map((progress) =>
    progress.call.toolCallId === next.call.toolCallId ? next : progress,
  );
  return { ...state, phase: { ...state.phase, calls } };
}

/** Starts subagents that one reply asked for. Those that may not start are settled with an error instead. */
export function startSubagents(
  state: RunState,
  calls: readonly SubagentCall[],
  atMs: number,
): Step {
  const { snapshot } = state;
  if (snapshot === undefined || calls.length === 0) return step(state);
  const shares = allotments(state, calls);
  const limits = handedLimits(state, snapshot.limits, calls);
  let current = state;
  const commands: RunCommand[] = [];
  calls.forEach((start, index) => {
    const { call, callId, policy } = start;
    const allotment = shares[index] ?? {};
    const handed = limits[index];
    invariant(handed !== undefined, 'each subagent is handed limits');
    const refused = refusal(current, start, allotment, snapshot.limits);
    if (refused !== undefined) {
      current = replace(current, settleWithError(call, refused));
      return;
    }
    const reserved = reserve(current, callId, allotment);
    const runId = runIdOf(current, callId);
    current = replace(reserved.state, {
      call,
      status: { type: 'delegated', runId, limits: handed },
    });
    const request = requestOf(state, start, handed, reserved.allowance);
    commands.push(
      publish(current, atMs, {
        type: 'SubagentStartedEvent',
        toolCallId: call.toolCallId,
        runId,
        agent: policy.agent,
        task: request.goal.slice(0, 200),
      }),
      {
        type: 'run-subagent',
        toolCallId: call.toolCallId,
        callId,
        runId,
        request,
      },
    );
  });
  return step(current, ...commands);
}
