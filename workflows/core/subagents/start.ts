/** Starts the subagents of a reply: each gets a share of what the run has left, so that together they never pass it (R-SUB). */
import { budgetLeft, reserve } from '../budget/budget';
import type { Allowance } from '../budget/spend';
import type { BudgetSlice } from '../budget/state';
import type { AgentError } from '../failure';
import { agentError } from '../failure';
import { handedCaps, waitingCalls, waitingSubagents } from '../guard/handed-caps';
import type { GuardSlice } from '../guard/state';
import { invariant } from '../invariant';
import { defined } from '../json';
import type { HandedLimits, Limits } from '../limits';
import type { CountersSlice } from '../run/account';
import type { RequestSlice, RunRequest, SnapshotSlice } from '../run/ports';
import { prepared, toolPolicy } from '../run/ports';
import type { Move } from '../run/move';
import { andThen, publish, stay } from '../run/move';
import { callersBelow } from '../tools/lineage';
import type { ProposedToolCall, SubagentPolicy } from '../tools/ports';
import type { PhaseSlice } from '../run/phases';
import { activityIdAt, callsOf, readyCalls, replaceCall, settleWithError } from '../tools/state';
import { shortened } from '../shortened';

type StartingState = BudgetSlice &
  CountersSlice &
  GuardSlice &
  PhaseSlice &
  RequestSlice &
  SnapshotSlice;

/** A call that starts a subagent. */
interface SubagentCall {
  readonly call: ProposedToolCall;
  /** Activity id of the call; the subagent's run id ends with it. */
  readonly callId: string;
  readonly policy: SubagentPolicy;
}

/** Share of what is left that a subagent gets by default (ADR 0021). */
const defaultShare = 0.5;
/** The most that subagents get of what is left: the run must be able to read the answers (ADR 0021). */
const greatestShare = 0.8;

function wantedShare({ share, budget }: SubagentPolicy): number {
  return share ?? (budget === undefined ? defaultShare : 1);
}

/** What each of the calls may spend. An absent field has no limit. */
function allotments(state: StartingState, calls: readonly SubagentCall[]): readonly Allowance[] {
  const left = budgetLeft(state);
  const wanted = calls.reduce((sum, { policy }) => sum + wantedShare(policy), 0);
  const scale = Math.min(1, greatestShare / wanted);
  return calls.map(({ policy }) => {
    const share = wantedShare(policy) * scale;
    const part = (ofRun: number | undefined, own: number | undefined): number | undefined =>
      ofRun === undefined ? own : Math.min(Math.floor(ofRun * share), own ?? Infinity);
    const nanoUsd = part(left.nanoUsd, policy.budget?.nanoUsd);
    const tokens = part(left.tokens, policy.budget?.tokens);
    return defined({ nanoUsd, tokens });
  });
}

/** What subagents at work were given of a limit. */
function handedOut(state: PhaseSlice, limit: 'maxEvents' | 'maxToolCalls'): number {
  return callsOf(state).reduce(
    (sum, { status }) => sum + (status.type === 'delegated' ? status.limits[limit] : 0),
    0,
  );
}

/** What is left of the run's limits, divided among the subagents of the reply, including those that wait for approval; time is not divided, since they run side by side. */
function handedLimits(
  state: StartingState,
  limits: Limits,
  calls: readonly SubagentCall[],
): readonly HandedLimits[] {
  const count = calls.length + waitingSubagents(state).length;
  const part = (limit: 'maxEvents' | 'maxToolCalls', used: number): number =>
    Math.max(Math.floor((limits[limit] - used - handedOut(state, limit)) / count), 0);
  const shared = {
    maxEvents: Math.max(part('maxEvents', state.counters.events), 1),
    maxToolCalls: part('maxToolCalls', state.counters.toolCalls + waitingCalls(state).length),
    maxActiveMs: Math.max(limits.maxActiveMs - state.activeMs, 1),
    maxSubagentDepth: limits.maxSubagentDepth,
  };
  const policies = calls.map(({ policy }) => policy);
  return handedCaps(state, policies).map((caps) => ({ ...shared, ...caps }));
}

/** How many runs lead to this one. */
function depthOf({ request }: RequestSlice): number {
  return request.parent?.depth ?? 0;
}

function refusal(
  state: RequestSlice,
  { call }: SubagentCall,
  allotment: Allowance,
  limits: Limits,
): AgentError | undefined {
  const depth = depthOf(state);
  const isTooDeep = depth >= limits.maxSubagentDepth;
  const isBroke = (allotment.nanoUsd ?? 1) <= 0 || (allotment.tokens ?? 1) <= 0;
  if (!isTooDeep && !isBroke) return undefined;
  const why = isTooDeep
    ? `runs may nest ${limits.maxSubagentDepth} deep (limits.maxSubagentDepth), and this run is at depth ${depth}`
    : 'no budget is left for it';
  return agentError('subagent_failed', `The subagent was not started: ${why}.`, {
    hint: 'Do the work yourself.',
    toolName: call.name,
  });
}

/** The workflow id: the run key without the id of its first execution. */
function ownRunId({ runKey }: RequestSlice): string {
  return runKey.slice(0, runKey.lastIndexOf('/'));
}

/** What people read instead of a task that is too long. */
const longTask = '(a long task, kept in the store)';

function requestOf(
  state: CountersSlice & RequestSlice & SnapshotSlice,
  { call, policy }: SubagentCall,
  handed: HandedLimits,
  allowance: Allowance | undefined,
): RunRequest {
  const { storeId, workspace, hasContext, definition } = prepared(state).snapshot;
  const { tenant, origins, repeatEffects } = state.request;
  const task = call.input?.['task'];
  return {
    agent: policy.agent,
    goal: typeof task === 'string' ? task : longTask,
    storeId,
    ...defined({ workspace, limits: policy.limits, tenant, origins, repeatEffects }),
    ...(hasContext === true ? { contextOf: definition } : {}),
    parent: {
      runId: ownRunId(state),
      depth: depthOf(state) + 1,
      limits: handed,
      callers: callersBelow(state, call.toolCallId),
      ...defined({ allowance, taskBlob: call.inputBlob }),
    },
  };
}

/** Starts one subagent, or settles its call with an error where it may not start. */
function startSubagent<State extends StartingState>(
  state: State,
  start: SubagentCall,
  allotment: Allowance,
  handed: HandedLimits,
): Move<State> {
  const { call, callId, policy } = start;
  const { limits } = prepared(state).snapshot;
  const refused = refusal(state, start, allotment, limits);
  if (refused !== undefined) return stay(replaceCall(state, settleWithError(call, refused)));
  const reserved = reserve(state, callId, allotment);
  const runId = `${ownRunId(state)}/${callId}`;
  const started = replaceCall(reserved.state, {
    call,
    status: { type: 'delegated', runId, limits: handed, sinceActiveMs: state.activeMs },
  });
  const request = requestOf(started, start, handed, reserved.allowance);
  const { toolCallId } = call;
  return stay(
    started,
    publish({
      type: 'SubagentStartedEvent',
      toolCallId,
      runId,
      agent: policy.agent,
      task: shortened(request.goal, 200),
    }),
    { type: 'run-subagent', toolCallId, callId, runId, request },
  );
}

/** Starts the subagents among the ready calls: a call that names an agent and has no answer yet. */
export function startSubagents<State extends StartingState>(state: State): Move<State> {
  const calls = readyCalls(state).flatMap(({ call, index }): readonly SubagentCall[] => {
    const policy = toolPolicy(state, call.name)?.subagent;
    return policy === undefined || call.answer !== undefined
      ? []
      : [{ call, callId: activityIdAt(state, index), policy }];
  });
  if (calls.length === 0) return stay(state);
  const shares = allotments(state, calls);
  const limits = handedLimits(state, prepared(state).snapshot.limits, calls);
  return calls.reduce<Move<State>>((before, start, index) => {
    const handed = limits[index];
    invariant(handed !== undefined, 'each subagent is given limits');
    return andThen(before, (after) => startSubagent(after, start, shares[index] ?? {}, handed));
  }, stay(state));
}
