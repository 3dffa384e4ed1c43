/** Valid defaults for everything that the core takes, so that a test names only its subject. */
import { flagNames } from '../../workflows/flags';
import { statusMarkdown } from '../../workflows/core/view/markdown';
import { pendingItems } from '../../workflows/core/view/pending';
import { statusView } from '../../workflows/core/view/status';
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import type { AgentError, InfraError } from '../../workflows/core/failure';
import type { ContextMeasure } from '../../workflows/core/context/measure';
import type { Limits } from '../../workflows/core/limits';
import { defaultLimits } from '../../workflows/core/limits';
import type { AgentSnapshot, RunRequest } from '../../workflows/core/run/ports';
import type { CallModelResult } from '../../workflows/core/model-call/ports';
import type { RecoveryPolicy } from '../../workflows/core/recovery/action';
import type { RouteConfig } from '../../workflows/core/failover/state';
import type { ProposedToolCall, RunToolResult, ToolPolicy } from '../../workflows/core/tools/ports';
import type { RunEvent, TimelineEntry } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import type { Transition } from '../../workflows/core/run/transition';
import { initialTransition, transition } from '../../workflows/core/run/transition';
import { noUsage } from '../../workflows/core/budget/spend';

/** When every built run starts, in milliseconds since the epoch. */
export const startMs = 1_700_000_000_000;

/** Default limits with changes. */
export function aLimits(changes: Partial<Limits> = {}): Limits {
  return { ...defaultLimits, ...changes };
}

/** A route of provider `alpha`. */
export function aRoute(changes: Partial<RouteConfig> = {}): RouteConfig {
  return {
    provider: 'alpha',
    model: 'model-1',
    toolProtocol: 'native',
    maxOutputTokens: 4_096,
    windowTokens: 200_000,
    ...changes,
  };
}

/** A measured request that fits a window of 200,000 tokens. */
export function aMeasure(changes: Partial<ContextMeasure> = {}): ContextMeasure {
  return {
    tokens: 100_000,
    fixedTokens: 5_000,
    tailTokens: 5_000,
    strippableTokens: 0,
    messages: 40,
    bytes: 400_000,
    images: 0,
    ...changes,
  };
}

/** A tool that may be called freely. */
export function aTool(name: string, changes: Partial<ToolPolicy> = {}): ToolPolicy {
  return { name, effect: 'read', timeoutMs: 60_000, approval: 'never', ...changes };
}

/** An agent with two routes and the tools `search` and `calculator`. */
export function aSnapshot(changes: Partial<AgentSnapshot> = {}): AgentSnapshot {
  return {
    agent: 'helper',
    flags: flagNames,
    compaction: defaultCompaction,
    definition: 'definition-hash',
    storeId: 'store-1',
    completion: 'text',
    chain: [aRoute(), aRoute({ provider: 'beta', model: 'model-2' })],
    tools: [aTool('search'), aTool('calculator')],
    limits: aLimits(),
    ...changes,
  };
}

/** Recovery that acts, asks and escalates, and whose questions wait for a person. */
export function aRecoveryPolicy(changes: Partial<RecoveryPolicy> = {}): RecoveryPolicy {
  return {
    mode: 'auto',
    actAt: 0.8,
    askAt: 0.5,
    escalate: 'wait',
    maxPerRun: 5,
    waitMs: 60_000,
    onExpiry: 'give-up',
    ...changes,
  };
}

/** What a person asks for. */
export function aRequest(changes: Partial<RunRequest> = {}): RunRequest {
  return { agent: 'helper', goal: 'search for test', ...changes };
}

/** A mistake that the model can correct. */
export function anAgentError(changes: Partial<AgentError> = {}): AgentError {
  return {
    kind: 'agent',
    code: 'tool_execution_failed',
    message: 'division by zero',
    recoverable: true,
    ...changes,
  };
}

/** A failure that the model never sees. */
export function anInfraError(
  code: InfraError['code'],
  changes: Partial<InfraError> = {},
): InfraError {
  return { kind: 'infra', code, message: `it failed: ${code}`, ...changes };
}

/** A tool call that can run. */
export function aCall(
  toolCallId: string,
  changes: Partial<ProposedToolCall> = {},
): ProposedToolCall {
  return { toolCallId, name: 'search', input: { query: 'test' }, fingerprint: 'f', ...changes };
}

/** A reply that answers `done`. */
export function aReply(changes: Partial<CallModelResult> = {}): CallModelResult {
  return {
    headBefore: 'head-before',
    head: 'head-after',
    stopReason: 'end',
    toolCalls: [],
    textPreview: 'done',
    answer: 'done',
    usage: noUsage,
    contextTokens: 10,
    ...changes,
  };
}

/** A reply that calls tools. */
export function aToolReply(
  toolCalls: readonly ProposedToolCall[],
  changes: Partial<CallModelResult> = {},
): CallModelResult {
  const { answer: _none, ...reply } = aReply({ textPreview: '' });
  return { ...reply, stopReason: 'tool-use', toolCalls, ...changes };
}

/** What a tool gave. */
export function aToolResult(changes: Partial<RunToolResult> = {}): RunToolResult {
  return { result: 'blob-hash', preview: 'a result', bytes: 8, fingerprint: 'r', ...changes };
}

type WithoutStamp<Event> = Event extends unknown ? Omit<Event, 'atMs'> : never;

/** An event before it has its time. */
export type UnstampedEvent = WithoutStamp<RunEvent>;

/** Takes events one after the other, a second apart. */
export function takeAll(state: RunState, ...events: readonly UnstampedEvent[]): Transition {
  let current: Transition = [state, []];
  let atMs = Math.max(startMs, state.activeSinceMs ?? state.startedAtMs);
  for (const event of events) {
    atMs += 1_000;
    current = transition(current[0], { ...event, atMs });
  }
  return current;
}

/** A run that was only just begun. */
export function aNewRun(request: Partial<RunRequest> = {}): Transition {
  return initialTransition({
    type: 'run-started',
    runKey: 'wf-1/run-1',
    request: aRequest(request),
    atMs: startMs,
  });
}

/** A run that waits for its first model call `m1`. */
export function aPreparedRun(snapshot: Partial<AgentSnapshot> = {}): RunState {
  const [state] = takeAll(aNewRun()[0], {
    type: 'run-prepared',
    result: { snapshot: aSnapshot(snapshot), head: 'head-0' },
  });
  return state;
}

/** A run in which the given calls of the first reply were taken. */
export function aRunWithCalls(
  calls: readonly ProposedToolCall[],
  snapshot: Partial<AgentSnapshot> = {},
): Transition {
  return takeAll(aPreparedRun(snapshot), {
    type: 'model-call-completed',
    callId: 'm1',
    result: aToolReply(calls),
  });
}

/** The timeline entries among commands, in order. */
export function entriesOf(commands: Transition[1]): readonly TimelineEntry[] {
  return commands.flatMap((command) => (command.type === 'publish' ? [command.entry] : []));
}

/** The types of commands, entries by their own name. */
export function typesOf(commands: Transition[1]): readonly string[] {
  return commands.map((command) =>
    command.type === 'publish' ? command.entry.type : command.type,
  );
}

/** The Web UI's details of a run. */
export function markdownOf(state: RunState): string {
  return statusMarkdown('run-1', statusView(state), pendingItems(state));
}
