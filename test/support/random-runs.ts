/** Random worlds for the driver: every outcome of every activity, and people who say anything at any time. */
import type { AgentErrorCode, InfraError } from '../../workflows/core/failure';
import { infraPolicies } from '../../workflows/core/errors/failure-policy';
import { recoveryInstructions } from '../../workflows/core/failure';
import type { ContextMeasure } from '../../workflows/core/context/measure';
import type { Limits, HandedLimits } from '../../workflows/core/limits';
import { defaultLimits } from '../../workflows/core/limits';
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import type { GuardrailVerdict } from '../../workflows/core/guardrails/ports';
import type { CompactInput } from '../../workflows/core/context/ports';
import type { DecisionPolicy } from '../../workflows/core/tools/ports';
import type { RunOutcome, SubagentEnd } from '../../workflows/core/run/outcome';
import { pendingItems } from '../../workflows/core/view/pending';
import { noUsage } from '../../workflows/core/budget/spend';
import type { UnstampedEvent } from './builders';
import { aMeasure, aRoute, aSnapshot, aTool, anAgentError, anInfraError } from './builders';
import type { ScriptedCompaction, ScriptedToolResult, SubagentCommand } from './run-driver';
import { RunDriver } from './run-driver';
import type { ScriptedCall, ScriptedReply } from './scripted-reply';
import { fc } from './properties';

const infraCodes = Object.keys(infraPolicies) as InfraError['code'][];
const agentCodes = Object.keys(recoveryInstructions) as AgentErrorCode[];

/** Failures that end a run at once are rare, so that runs live long enough to meet the others. */
const infra = fc
  .tuple(
    fc.oneof(
      {
        weight: 24,
        arbitrary: fc.constantFrom<InfraError['code'][]>(
          'rate_limit',
          'overloaded',
          'network',
          'store_unavailable',
        ),
      },
      { weight: 2, arbitrary: fc.constant<InfraError['code']>('auth') },
      { weight: 1, arbitrary: fc.constantFrom(...infraCodes) },
    ),
    fc.option(fc.integer({ min: -5, max: 400_000 }), { nil: undefined }),
  )
  .map(([code, retryAfterMs]) =>
    anInfraError(code, retryAfterMs === undefined ? {} : { retryAfterMs }),
  );

const agentError = fc
  .tuple(fc.constantFrom(...agentCodes), fc.constantFrom('no such row', 'division by zero'))
  .map(([code, message]) => anAgentError({ code, message, toolName: 'search' }));

const call: fc.Arbitrary<ScriptedCall> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ name: 'search', input: { query: 'x' } }) },
  { weight: 2, arbitrary: fc.constant({ name: 'calculator', needsApproval: true }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('admin', 'force')
      .map((use) => ({ name: 'calculator', privileged: [use] })),
  },
  {
    weight: 2,
    arbitrary: fc
      .boolean()
      .map((needsApproval) => ({ name: 'delegate', input: { task: 'a part' }, needsApproval })),
  },
  {
    weight: 1,
    arbitrary: fc
      .boolean()
      .map((needsApproval) => ({ name: 'transfer', input: { reason: 'x' }, needsApproval })),
  },
  { weight: 1, arbitrary: fc.constant({ name: 'ask_user', input: { question: 'which?' } }) },
  { weight: 1, arbitrary: fc.constant({ name: 'ask_user', input: { question: ' ' } }) },
  { weight: 1, arbitrary: fc.constant({ name: 'complete_task', input: { summary: 'done' } }) },
  { weight: 1, arbitrary: fc.constant({ name: 'complete_task', byReference: true }) },
  { weight: 2, arbitrary: agentError.map((error) => ({ name: 'search', error })) },
);

const text = fc.constantFrom('', ' ', 'done', 'thinking');

/** Sizes between nothing and far too much, in tokens of windows of 100,000 and 200,000. */
const tokens = fc.constantFrom(5_000, 60_000, 85_000, 95_000, 150_000, 178_000, 250_000);

const reply: fc.Arbitrary<ScriptedReply> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({ text, calls: fc.array(call, { minLength: 1, maxLength: 4 }) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      calls: fc.array(call, { minLength: 1, maxLength: 2 }),
      contextTokens: tokens,
    }),
  },
  { weight: 2, arbitrary: fc.record({ text }) },
  { weight: 2, arbitrary: fc.record({ text, stopReason: fc.constant('pause' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ text, stopReason: fc.constant('truncated' as const) }),
  },
  { weight: 2, arbitrary: agentError.map((error) => ({ text: 'x', error })) },
  {
    weight: 1,
    arbitrary: fc.record({
      text,
      stopReason: fc.constantFrom('refusal' as const, 'filtered' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ text: 'x', healedRetries: ['network'] }) },
  { weight: 1, arbitrary: fc.constant({ text: 'x', stopReason: 'context-full' as const }) },
);

const measure: fc.Arbitrary<ContextMeasure> = fc
  .record({
    tokens,
    fixedTokens: fc.constantFrom(2_000, 2_000, 90_000),
    tailTokens: fc.constantFrom(3_000, 40_000),
    strippableTokens: fc.constantFrom(0, 0, 30_000),
    messages: fc.constantFrom(3, 40),
    over: fc.constantFrom(...([undefined, undefined, undefined, 'images', 'bytes'] as const)),
  })
  .map(({ over, ...sizes }) => aMeasure({ ...sizes, ...(over === undefined ? {} : { over }) }));

/** A request that was not sent, or that the vendor refused as too long, with or without its numbers. */
const tooLong: fc.Arbitrary<InfraError | { readonly heldBack: ContextMeasure }> = fc.oneof(
  { weight: 5, arbitrary: measure.map((heldBack) => ({ heldBack })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ measure, windowTokens: fc.constantFrom(undefined, 64_000, 198_000) })
      .map(({ windowTokens, ...overflow }) =>
        anInfraError('context_overflow', {
          overflow: {
            ...overflow,
            ...(windowTokens === undefined
              ? {}
              : { windowTokens, inputTokens: overflow.measure.tokens }),
          },
        }),
      ),
  },
  { weight: 1, arbitrary: fc.constant(anInfraError('context_overflow', { status: 413 })) },
);

/** What a compaction comes to: it helps, helps little or not at all, finds nothing to do, gets no summary, or is lost. */
const compaction: fc.Arbitrary<ScriptedCompaction | InfraError> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  { weight: 3, arbitrary: measure.map((after) => ({ measure: after })) },
  {
    weight: 2,
    arbitrary: measure.map((after) => ({ hasNoEffect: true as const, measure: after })),
  },
  { weight: 1, arbitrary: fc.constant({ isNeedless: true as const }) },
  { weight: 2, arbitrary: fc.constant({ failure: anInfraError('format') }) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom<InfraError['code'][]>(
        'worker_lost',
        'overloaded',
        'rate_limit',
        'context_overflow',
        'store_unavailable',
      )
      .map((code) => anInfraError(code)),
  },
);

const toolResult: fc.Arbitrary<ScriptedToolResult | InfraError> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc
      .constantFrom('a', 'b', 'c', 'd')
      .map((output) => ({ output: `result ${output}` })),
  },
  { weight: 8, arbitrary: agentError.map((error) => ({ error })) },
  { weight: 4, arbitrary: fc.constant(anInfraError('store_unavailable')) },
  { weight: 1, arbitrary: fc.constant(anInfraError('tool_infrastructure')) },
);

/** How a subagent comes back, and what part of what it was handed it used up. */
interface RandomSubagent {
  readonly ends: RunOutcome['status'] | 'lost' | 'not-started';
  readonly greed: number;
}

const subagent: fc.Arbitrary<RandomSubagent> = fc.record({
  ends: fc.constantFrom<RandomSubagent['ends'][]>(
    'completed',
    'completed',
    'failed',
    'stopped',
    'lost',
    'not-started',
  ),
  greed: fc.constantFrom(0, 0.2, 1),
});

type Consumption = Extract<SubagentEnd, { type: 'ended' }>['consumed'];

/** Part of what a subagent was handed: it keeps to its limits. */
function consumed(handed: HandedLimits, greed: number): Consumption {
  const part = (limit = 0): number => Math.floor(limit * greed);
  const { maxToolCalls, maxEvents, maxActiveMs, toolCallsLeft, fileEditsLeft } = handed;
  return {
    spend: { usage: { ...noUsage, inputTokens: 50 }, nanoUsd: 1_000 },
    unpricedCalls: 0,
    toolCalls: part(maxToolCalls),
    events: part(maxEvents),
    activeMs: part(Math.min(maxActiveMs, 1_000)),
    guard: {
      toolRuns: { search: part(toolCallsLeft['search']) },
      fileEdits: { f1: part(fileEditsLeft['f1'] ?? handed.maxEditsPerFile) },
    },
  };
}

/** The end of a random subagent. */
function subagentEnd(
  { request }: SubagentCommand,
  { ends, greed }: RandomSubagent,
  isCancelled: boolean,
): SubagentEnd {
  const handed = request.parent?.limits;
  if (handed === undefined || ends === 'lost') return { type: 'lost', message: 'gone' };
  if (ends === 'not-started') return { type: ends, message: 'it runs already' };
  const status = isCancelled ? 'cancelled' : ends;
  return {
    type: 'ended',
    status,
    ...(status === 'failed' ? { reason: 'guard_tool_calls' } : {}),
    message: 'It said so.',
    worked: ['search'],
    ...(status === 'completed' ? { head: `head-of-${request.agent}` } : {}),
    consumed: consumed(handed, greed),
  };
}

/** Something a person does: to what waits, or out of the blue. */
const personAct = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('decide' as const), yes: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('edit' as const), to: fc.constantFrom(1, 2) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('say' as const),
      text: fc.constantFrom('', ' ', 'hello', 'x'.repeat(30_000)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('escalate' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constantFrom('stop' as const, 'cancel' as const) }),
  },
);

/** One thing that happens in a random run. */
type RandomAct = ReturnType<(typeof personAct)['generate']>['value'] | { type: 'next' };

/** A whole random run: what the world answers, and when people speak. */
export interface RandomRun {
  readonly snapshot: AgentSnapshot;
  readonly replies: readonly (ScriptedReply | InfraError | { readonly heldBack: ContextMeasure })[];
  readonly compactions: readonly (ScriptedCompaction | InfraError)[];
  readonly toolResults: readonly (ScriptedToolResult | InfraError)[];
  readonly subagents: readonly RandomSubagent[];
  readonly prepares: readonly boolean[];
  /** Of each handoff's preparation: whether the store is there. */
  readonly handovers: readonly boolean[];
  readonly verdicts: readonly (readonly GuardrailVerdict[] | InfraError)[];
  readonly picks: readonly number[];
  readonly rollOvers: readonly boolean[];
  readonly acts: readonly RandomAct[];
}

const limits: fc.Arbitrary<Limits> = fc
  .record({
    maxIterations: fc.constantFrom(-1, 0, 1, 3, 10, 30),
    maxEvents: fc.constantFrom(0, 5, 40, 2_000),
    maxToolCalls: fc.constantFrom(0, 1, 3, 400),
    maxActiveMs: fc.constantFrom(1, 5_000, 600_000),
    maxProviderWaitMs: fc.constantFrom(0, 100_000, 86_400_000),
    network: fc.constantFrom(0, 30_000),
  })
  .map(({ network, ...counts }) => ({
    ...defaultLimits,
    ...counts,
    cooldownMs: { ...defaultLimits.cooldownMs, network },
  }));

const guardrail = { names: ['guard'], timeoutMs: 1_000 };

/** What guardrails say: mostly that all is well, so that runs live long enough. */
const verdicts: fc.Arbitrary<readonly GuardrailVerdict[] | InfraError> = fc.oneof(
  { weight: 8, arbitrary: fc.constant([{ name: 'guard', verdict: 'passed' } as const]) },
  {
    weight: 4,
    arbitrary: fc.constant([{ name: 'guard', verdict: 'corrected', message: 'hint' } as const]),
  },
  { weight: 1, arbitrary: fc.constant([{ name: 'guard', verdict: 'stopped' } as const]) },
  { weight: 2, arbitrary: infra },
);

/** Cap of the tool `search` in random runs. */
export const searchCap = 30;

const snapshot: fc.Arbitrary<AgentSnapshot> = fc
  .record({
    limits: fc.oneof(
      { weight: 3, arbitrary: fc.constant({ ...defaultLimits, maxIterations: 30 }) },
      { weight: 1, arbitrary: limits },
    ),
    completion: fc.constantFrom('text' as const, 'tool' as const),
    routes: fc.constantFrom(0, 1, 1, 2, 2, 2, 3, 3, 3),
    windowTokens: fc.constantFrom(100_000, 200_000),
    approvals: fc.constantFrom<(DecisionPolicy | undefined)[]>(
      undefined,
      { expiresAfterMs: 2_000, onExpiry: 'reject' },
      { expiresAfterMs: 2_000, onExpiry: 'escalate' },
      { expiresAfterMs: 2_000, onExpiry: 'wait' },
    ),
    learns: fc.boolean(),
    notifies: fc.boolean(),
    signs: fc.boolean(),
    guards: fc.boolean(),
  })
  .map(({ routes, windowTokens, approvals, learns, notifies, signs, guards, ...rest }) =>
    aSnapshot({
      ...rest,
      tools: [
        aTool('search', { maxCalls: searchCap }),
        aTool('calculator'),
        aTool('delegate', {
          subagent: { agent: 'helper', tools: ['search', 'calculator', 'delegate'] },
        }),
        aTool('transfer', { handoff: 'other' }),
      ],
      ...(guards ? { guardrails: { input: guardrail, output: guardrail } } : {}),
      ...(approvals === undefined ? {} : { approvals, questions: approvals }),
      ...(learns ? { learns: true } : {}),
      ...(signs ? { approvers: ['ed25519:x'] } : {}),
      ...(notifies
        ? { notifiers: { names: ['log'], on: ['escalation', 'question', 'approval'] } }
        : {}),
      chain: Array.from({ length: routes }, (_, index) =>
        // The last route has the larger window, where there are several.
        aRoute({
          provider: `p${index}`,
          windowTokens: index > 0 && index === routes - 1 ? 200_000 : windowTokens,
        }),
      ),
    }),
  );

/** Random runs. */
export const randomRun: fc.Arbitrary<RandomRun> = fc.record({
  snapshot,
  replies: fc.array(
    fc.oneof(
      { weight: 8, arbitrary: reply },
      { weight: 2, arbitrary: infra },
      { weight: 2, arbitrary: tooLong },
    ),
    { minLength: 1, maxLength: 40, size: 'max' },
  ),
  compactions: fc.array(compaction, { maxLength: 12 }),
  toolResults: fc.array(toolResult, { minLength: 1, maxLength: 20, size: 'max' }),
  subagents: fc.array(subagent, { maxLength: 8 }),
  prepares: fc.array(fc.boolean(), { maxLength: 2 }),
  handovers: fc.array(fc.boolean(), { maxLength: 4 }),
  verdicts: fc.array(verdicts, { maxLength: 8 }),
  picks: fc.array(fc.nat({ max: 7 }), { maxLength: 20 }),
  rollOvers: fc.array(fc.boolean(), { maxLength: 20 }),
  acts: fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.constant({ type: 'next' } as const) },
      { weight: 1, arbitrary: personAct },
    ),
    { maxLength: 60, size: 'max' },
  ),
});

function cycle<Item>(items: readonly Item[], fallback: Item): () => Item {
  let next = 0;
  return () => {
    const item = items[next % Math.max(items.length, 1)];
    next += 1;
    return item ?? fallback;
  };
}

/** The events that an act comes to in the run as it is. */
function eventsOf(driver: RunDriver, act: Exclude<RandomAct, { type: 'next' }>): UnstampedEvent[] {
  switch (act.type) {
    case 'say':
      return [{ type: 'message-added', text: act.text }];
    case 'escalate':
      return [{ type: 'escalation-requested', reason: 'let me look' }];
    case 'stop':
      return [{ type: 'stop-requested', reason: 'enough' }];
    case 'cancel':
      return [{ type: 'cancel-requested', reason: 'cancelled' }];
    case 'edit': {
      const item = pendingItems(driver.state).find(({ type }) => type === 'approval');
      if (item?.type !== 'approval') return [];
      const { approvalId } = item;
      return [
        { type: 'approval-resolved', approvalId, decision: 'approve', input: { to: act.to } },
      ];
    }
    case 'decide': {
      const [item] = pendingItems(driver.state);
      if (item === undefined) return [];
      return item.type === 'approval'
        ? [
            {
              type: 'approval-resolved',
              approvalId: item.approvalId,
              decision: act.yes ? 'approve' : 'reject',
            },
          ]
        : [{ type: 'question-answered', questionId: item.questionId, answer: act.yes ? 'a' : ' ' }];
    }
  }
}

/** Only a model that was asked can fail to summarize, and only what was foreseen can prove needless. */
function possible(
  { summary, isDue }: CompactInput,
  made: ScriptedCompaction | InfraError,
): ScriptedCompaction | InfraError {
  if ('kind' in made) {
    const isOurs = made.code === 'store_unavailable' || made.code === 'worker_lost';
    return isOurs || summary !== undefined ? made : {};
  }
  const isImpossible =
    (made.failure !== undefined && summary === undefined) ||
    (made.isNeedless === true && isDue === true);
  return isImpossible ? {} : made;
}

/** What may be changed when a random run is played. */
export interface PlayOptions {
  readonly watch?: ConstructorParameters<typeof RunDriver>[0]['watch'];
  /** Without, the server never wants a new segment. */
  readonly rollsOver?: boolean;
}

/** Plays a random run to its end: where only a person can go on, somebody decides. */
export function playRun(run: RandomRun, options: PlayOptions = {}): RunDriver {
  // Every store comes back in the end, and every provider answers once more.
  const nextReply = cycle([...run.replies, { text: 'done' }], { text: 'done' });
  const nextCompaction = cycle<ScriptedCompaction | InfraError>([...run.compactions, {}], {});
  const nextResult = cycle([...run.toolResults, { output: 'ok' }], { output: 'ok' });
  const nextSubagent = cycle<RandomSubagent>(run.subagents, { ends: 'completed', greed: 0 });
  const nextPick = cycle(run.picks, 0);
  const nextProblem = cycle<string | InfraError>(
    ['too much', anInfraError('store_unavailable')],
    'x',
  );
  const isHandedOver = cycle([...run.handovers, true], true);
  const nextVerdict = cycle<readonly GuardrailVerdict[] | InfraError>([...run.verdicts, []], []);
  const nextRollOver = cycle(run.rollOvers, false);
  const driver = new RunDriver({
    prepare: (attempt) =>
      run.prepares[attempt - 1] === true ? anInfraError('store_unavailable') : run.snapshot,
    model: nextReply,
    compact: (input) => possible(input, nextCompaction()),
    subagent: (command, isCancelled) => subagentEnd(command, nextSubagent(), isCancelled),
    tool: nextResult,
    handOver: (agent) =>
      isHandedOver() ? { ...run.snapshot, agent } : anInfraError('store_unavailable'),
    guardrails: nextVerdict,
    check: ({ input }) => (input?.['to'] === 1 ? undefined : nextProblem()),
    failsToNotify: () => nextPick() % 3 === 0,
    pick: (count) => nextPick() % Math.max(count, 1),
    wantsRollOver: () => options.rollsOver === true && nextRollOver(),
    ...(options.watch === undefined ? {} : { watch: options.watch }),
  });
  for (const act of run.acts) {
    if (act.type === 'next') driver.step();
    else for (const event of eventsOf(driver, act)) driver.say(event, 500);
  }
  let words = 0;
  while (driver.run(500).state.phase.type !== 'ended') {
    words += 1;
    const decided = words < 40 ? eventsOf(driver, { type: 'decide', yes: words % 2 === 0 }) : [];
    if (decided.length === 0) driver.say({ type: 'stop-requested', reason: 'nothing more to do' });
    for (const event of decided) driver.say(event, 1_000);
  }
  return driver;
}
