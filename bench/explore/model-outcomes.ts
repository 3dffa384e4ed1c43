/** What model calls, compactions, and plans come to. */
import { noUsage } from '../../workflows/core/budget/spend';
import type { CallModelInput, CallModelResult } from '../../workflows/core/model-call/ports';
import type { RecoveryAction } from '../../workflows/core/recovery/action';
import type { UnstampedEvent } from '../../workflows/core/run/protocol';
import type { PendingResult, RuntimeResult } from '../../workflows/core/tools/ports';
import type { CommandOf } from './proposals';
import { agentError, infraError, measured, priceOf, proposedCall, spend } from './proposals';
import type { CallSpec } from './small-agent';
import type { Entry, World } from './world';

/** The transcript with what a call appends before it is sent. */
function appended(
  { store }: World,
  input: Partial<Pick<CallModelInput, 'userTexts'>> & {
    readonly head: string;
    readonly pendingResults?: readonly PendingResult[];
    readonly runtimeResults?: readonly RuntimeResult[];
  },
): string {
  const { head, pendingResults = [], runtimeResults = [], userTexts = [] } = input;
  const own = runtimeResults.map(({ pending }) => pending);
  const entries: readonly Entry[] = [
    ...(pendingResults.length > 0 ? [{ type: 'results', results: pendingResults } as const] : []),
    ...(own.length > 0 ? [{ type: 'results', results: own, isOwn: true } as const] : []),
    ...userTexts.map((text) => ({ type: 'said', text: textOf(text) }) as const),
  ];
  return store.append(head, entries);
}

function textOf(said: string | { readonly text: string }): string {
  return typeof said === 'string' ? said : said.text;
}

/** Replies of the model that are no tool calls. */
const plainReplies: { readonly [outcome: string]: Partial<CallModelResult> } = {
  answer: { answer: 'done' },
  empty: { textPreview: '' },
  pause: { stopReason: 'pause', isOpen: true },
  cut: { stopReason: 'truncated' },
  refuse: { stopReason: 'refusal' },
  garbled: { error: agentError('invalid_json') },
};

/** Calls of tools that every agent has. */
const commonReplies: { readonly [outcome: string]: readonly CallSpec[] } = {
  complete: [{ name: 'complete_task', input: { summary: 'done' } }],
  ask: [{ name: 'ask_user', input: { question: 'which?' } }],
};

function reply(
  world: World,
  input: CallModelInput,
  headBefore: string,
  outcome: string,
): CallModelResult {
  const { store, agent } = world;
  const plain: CallModelResult = {
    headBefore,
    head: headBefore,
    stopReason: 'end',
    toolCalls: [],
    textPreview: 'text',
    usage: { ...noUsage, inputTokens: 10, outputTokens: 5 },
    contextTokens: 10,
    spend: spend(world, input.allowance, priceOf(world)),
  };
  const own = plainReplies[outcome];
  if (own !== undefined) {
    const isKept = outcome === 'answer' || outcome === 'pause';
    const head = isKept ? store.append(headBefore, [{ type: 'reply', calls: [] }]) : headBefore;
    return { ...plain, ...own, head };
  }
  const specs = agent.replies?.[outcome] ?? commonReplies[outcome] ?? [];
  const toolCalls = specs.map((spec, index) =>
    proposedCall(world, spec, `${input.idPrefix}_${input.iteration}_${index}`, false),
  );
  const isKept = toolCalls.some(({ error }) => error === undefined);
  const calls = toolCalls.map(({ toolCallId }) => toolCallId);
  const head = isKept ? store.append(headBefore, [{ type: 'reply', calls }]) : headBefore;
  return { ...plain, stopReason: 'tool-use', toolCalls, textPreview: '', head };
}

export function modelEvent(
  world: World,
  command: CommandOf<'call-model'>,
  outcome: string,
): UnstampedEvent {
  const { callId, input } = command;
  const headBefore = appended(world, input);
  world.carried = [...world.carried, ...(input.userTexts ?? []).map(textOf)];
  if (outcome === 'held') {
    const heldBack = measured({ tokens: 195_000 });
    return { type: 'model-call-held-back', callId, result: { headBefore, heldBack } };
  }
  const result = reply(world, input, headBefore, outcome);
  return { type: 'model-call-completed', callId, result };
}

export function compactEvent(
  world: World,
  command: CommandOf<'compact'>,
  outcome: string,
): UnstampedEvent {
  const { callId, input } = command;
  const headBefore = appended(world, input);
  const asked = input.summary !== undefined;
  const base = {
    headBefore,
    head: headBefore,
    tier: input.tier,
    ...(input.trimTail === true ? { trimmedTail: true as const } : {}),
    tokensBefore: 195_000,
    messagesBefore: 40,
    measure: measured({ tokens: 50_000 }),
    ...(asked ? { spend: spend(world, input.allowance, priceOf(world)) } : {}),
  };
  const changed = world.store.append(headBefore, [{ type: 'compacted', by: callId }]);
  const small = { ...base, measure: measured({ tokens: 190_000 }) };
  const unmade = { ...base, failure: infraError('format'), measure: measured({ tokens: 195_000 }) };
  const results: { readonly [outcome: string]: typeof base } = {
    ok: { ...base, head: changed },
    small,
    needless: { ...base, isNeedless: true } as typeof base,
    unmade,
  };
  return { type: 'compaction-completed', callId, result: results[outcome] ?? base };
}

/** Plans by name: strategy, confidence, and whether the runtime is to make a call itself. */
const plans: {
  readonly [name: string]: readonly [RecoveryAction['strategy'], number, ('call' | 'approval')?];
} = {
  act: ['alternative-tool', 0.9, 'call'],
  retry: ['retry', 0.9, 'call'],
  'act-approved': ['alternative-tool', 0.9, 'approval'],
  ask: ['alternative-tool', 0.6, 'call'],
  'ask-approved': ['alternative-tool', 0.6, 'approval'],
  advise: ['alternative-tool', 0.9],
  escalate: ['escalate', 0.9],
  'give-up': ['give-up', 0.9],
  'ask-give-up': ['give-up', 0.6],
};

export function planEvent(
  world: World,
  command: CommandOf<'plan-recovery'>,
  outcome: string,
): UnstampedEvent {
  const { callId, input } = command;
  const tool = world.agent.planTool ?? 'a';
  const [strategy, confidence, by] = plans[outcome] ?? ['give-up', 0.9];
  const isEscalation = strategy === 'escalate';
  const spec: CallSpec = {
    name: tool,
    input: { arg: 7 },
    ...(by === 'approval' ? { approval: true } : {}),
  };
  const call =
    by === undefined ? undefined : proposedCall(world, spec, `${input.callIdPrefix}_0`, true);
  const action: RecoveryAction = {
    strategy,
    reasoning: 'why',
    action: {
      toolName: isEscalation ? '' : tool,
      ...(by === undefined ? {} : { parameters: { arg: 7 } }),
      ...(isEscalation ? { escalationMessage: 'help?' } : {}),
    },
    expectedOutcome: 'x',
    confidence,
  };
  const spent =
    input.routeIndex === undefined ? {} : { spend: spend(world, input.allowance, priceOf(world)) };
  const planned = { action, source: 'model', digest: `plan-${callId}`, ...spent } as const;
  return {
    type: 'recovery-planned',
    callId,
    result: call === undefined ? planned : { ...planned, call },
  };
}
