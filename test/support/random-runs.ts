/** Random worlds for the driver: every outcome of every activity, and people who say anything at any time. */
import fc from 'fast-check';
import type { AgentErrorCode, InfraError } from '../../workflows/core/failure';
import { infraPolicies, recoveryInstructions } from '../../workflows/core/failure-policy';
import type { Limits } from '../../workflows/core/limits';
import { defaultLimits } from '../../workflows/core/limits';
import type { AgentSnapshot, DecisionPolicy } from '../../workflows/core/ports';
import { currentRules } from '../../workflows/core/rules';
import { pendingItems } from '../../workflows/core/status-view';
import type { UnstampedEvent } from './builders';
import { aRoute, aSnapshot, anAgentError, anInfraError } from './builders';
import type { ScriptedCall, ScriptedReply, ScriptedToolResult } from './run-driver';
import { RunDriver } from './run-driver';

const infraCodes = Object.keys(infraPolicies) as InfraError['code'][];
const agentCodes = Object.keys(recoveryInstructions) as AgentErrorCode[];

/** Failures that end a run at once are rare, so that runs live long enough to meet the others. */
const infra = fc
  .tuple(
    fc.oneof(
      {
        weight: 12,
        arbitrary: fc.constantFrom<InfraError['code'][]>(
          'rate_limit',
          'overloaded',
          'network',
          'auth',
          'store_unavailable',
        ),
      },
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
  { weight: 1, arbitrary: fc.constant({ name: 'ask_user', input: { question: 'which?' } }) },
  { weight: 1, arbitrary: fc.constant({ name: 'ask_user', input: { question: ' ' } }) },
  { weight: 1, arbitrary: fc.constant({ name: 'complete_task', input: { summary: 'done' } }) },
  { weight: 1, arbitrary: fc.constant({ name: 'complete_task', byReference: true }) },
  { weight: 2, arbitrary: agentError.map((error) => ({ name: 'search', error })) },
);

const text = fc.constantFrom('', ' ', 'done', 'thinking');

const reply: fc.Arbitrary<ScriptedReply> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ text, calls: fc.array(call, { minLength: 1, maxLength: 4 }) }),
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
);

const toolResult: fc.Arbitrary<ScriptedToolResult | InfraError> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ output: 'a result' }) },
  { weight: 4, arbitrary: agentError.map((error) => ({ error })) },
  { weight: 2, arbitrary: fc.constant(anInfraError('store_unavailable')) },
  { weight: 1, arbitrary: fc.constant(anInfraError('tool_infrastructure')) },
);

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
  readonly replies: readonly (ScriptedReply | InfraError)[];
  readonly toolResults: readonly (ScriptedToolResult | InfraError)[];
  readonly prepares: readonly boolean[];
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

const snapshot: fc.Arbitrary<AgentSnapshot> = fc
  .record({
    limits: fc.oneof(
      { weight: 3, arbitrary: fc.constant({ ...defaultLimits, maxIterations: 30 }) },
      { weight: 2, arbitrary: limits },
    ),
    completion: fc.constantFrom('text' as const, 'tool' as const),
    routes: fc.constantFrom(0, 1, 2, 2, 3),
    approvals: fc.constantFrom<(DecisionPolicy | undefined)[]>(
      undefined,
      { expiresAfterMs: 2_000, onExpiry: 'reject' },
      { expiresAfterMs: 2_000, onExpiry: 'escalate' },
      { expiresAfterMs: 2_000, onExpiry: 'wait' },
    ),
    learns: fc.boolean(),
    notifies: fc.boolean(),
  })
  .map(({ routes, approvals, learns, notifies, ...rest }) =>
    aSnapshot({
      ...rest,
      rules: currentRules,
      ...(approvals === undefined ? {} : { approvals, questions: approvals }),
      ...(learns ? { learns: true } : {}),
      ...(notifies
        ? { notifiers: { names: ['log'], on: ['escalation', 'question', 'approval'] } }
        : {}),
      chain: Array.from({ length: routes }, (_, index) => aRoute({ provider: `p${index}` })),
    }),
  );

/** Random runs. */
export const randomRun: fc.Arbitrary<RandomRun> = fc.record({
  snapshot,
  replies: fc.array(fc.oneof({ weight: 4, arbitrary: reply }, { weight: 1, arbitrary: infra }), {
    minLength: 1,
    maxLength: 40,
    size: 'max',
  }),
  toolResults: fc.array(toolResult, { minLength: 1, maxLength: 20, size: 'max' }),
  prepares: fc.array(fc.boolean(), { maxLength: 2 }),
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
  const nextResult = cycle([...run.toolResults, { output: 'ok' }], { output: 'ok' });
  const nextPick = cycle(run.picks, 0);
  const nextProblem = cycle<string | InfraError>(
    ['too much', anInfraError('store_unavailable')],
    'x',
  );
  const nextRollOver = cycle(run.rollOvers, false);
  const driver = new RunDriver({
    prepare: (attempt) =>
      run.prepares[attempt - 1] === true ? anInfraError('store_unavailable') : run.snapshot,
    model: nextReply,
    tool: nextResult,
    check: ({ input }) => (input['to'] === 1 ? undefined : nextProblem()),
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
