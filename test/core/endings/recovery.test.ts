/** A stuck run at its ends: the runtime's own calls, plans that nobody can read any more, and people who take over. */
import type { PlanRecoveryResult } from '../../../workflows/core/recovery/ports';
import type { RunState } from '../../../workflows/core/run/state';
import { noUsage } from '../../../workflows/core/budget/spend';
import { pendingItems } from '../../../workflows/core/view/pending';
import type { UnstampedEvent } from '../../support/builders';
import {
  aCall,
  aLimits,
  aPreparedRun,
  aTool,
  aToolReply,
  aToolResult,
  anAgentError,
  anInfraError,
  takeAll,
  typesOf,
} from '../../support/builders';

const policy = {
  mode: 'auto',
  actAt: 0.8,
  askAt: 0.5,
  maxPerRun: 2,
  waitMs: 60_000,
  onExpiry: 'give-up',
} as const;
const tools = [aTool('search')];

const stop = { type: 'stop-requested', reason: 'enough' } as const;
const failed = (
  toolCallId: string,
  code: 'tool_infrastructure' | 'store_unavailable' | 'worker_lost',
) => ({ type: 'tool-call-failed', toolCallId, failure: anInfraError(code) }) as const;
const done = (toolCallId: string) =>
  ({ type: 'tool-call-completed', toolCallId, result: aToolResult() }) as const;

/** A run that is stuck, with a plan in flight. */
function planning(snapshot: Parameters<typeof aPreparedRun>[0] = {}): RunState {
  const error = anAgentError({ code: 'invalid_params', toolName: 'search' });
  return [1, 2, 3].reduce<RunState>(
    (state, call) =>
      takeAll(state, {
        type: 'model-call-completed',
        callId: `m${call}`,
        result: aToolReply([aCall(`x${call}`, { error })], {
          ...(snapshot.budget && { spend: { usage: noUsage, nanoUsd: 1_000 } }),
        }),
      })[0],
    aPreparedRun({ tools, recovery: policy, ...snapshot }),
  );
}

const planned = (
  strategy: PlanRecoveryResult['action']['strategy'],
  confidence: number,
  more: Partial<PlanRecoveryResult> = {},
) =>
  ({
    type: 'recovery-planned',
    callId: 'r3',
    result: {
      action: {
        strategy,
        reasoning: 'why',
        action: { toolName: strategy === 'escalate' ? '' : 'search', parameters: { query: 'y' } },
        expectedOutcome: 'x',
        confidence,
      },
      source: 'model',
      digest: 'dig',
      ...more,
    },
  }) as const;

describe('the own call of the runtime', () => {
  const own = aCall('own', { input: { query: 'y' } });
  const acting = (): RunState =>
    takeAll(planning(), planned('alternative-tool', 0.9, { call: own }))[0];

  test.each([
    ['that returns while the run ends', [stop, done('own')]],
    ['that is stopped', [stop, failed('own', 'worker_lost')]],
    ['that breaks', [failed('own', 'tool_infrastructure')]],
    ['that is paused', [failed('own', 'store_unavailable'), stop]],
  ] as const)('%s is a result of the runtime', (_how, events) => {
    const [after] = takeAll(acting(), ...events);
    expect(after.next.pendingResults).toEqual([]);
    expect(after.next.runtimeResults).toMatchObject([{ pending: { toolCallId: 'own' } }]);
    expect(after.phase.type).toBe('ended');
  });

  test('leaves the results of the calls of the model when it breaks', () => {
    const same = (call: number): readonly UnstampedEvent[] => [
      {
        type: 'model-call-completed',
        callId: `m${call}`,
        result: aToolReply([aCall(`s${call}`)]),
      },
      {
        type: 'tool-call-completed',
        toolCallId: `s${call}`,
        result: aToolResult({ result: `boom-${call}`, error: anAgentError() }),
      },
    ];
    const [after] = takeAll(
      aPreparedRun({ tools, recovery: policy }),
      ...[1, 2, 3].flatMap(same),
      planned('alternative-tool', 0.9, { call: own }),
      failed('own', 'tool_infrastructure'),
    );
    expect(after.next.pendingResults).toMatchObject([{ toolCallId: 's3', result: 'boom-3' }]);
    expect(after.next.runtimeResults).toMatchObject([{ pending: { toolCallId: 'own' } }]);
  });

  test('has an edit checked under an id of its own', () => {
    const call = aCall('own', { input: { query: 'y' }, approvalDigest: 'd' });
    const [asked] = takeAll(planning(), planned('alternative-tool', 0.9, { call }));
    const [, commands] = takeAll(asked, {
      type: 'approval-resolved',
      approvalId: 'own',
      decision: 'approve',
      input: { query: 'z' },
    });
    expect(commands.find(({ type }) => type === 'check-edit')).toMatchObject({ callId: 'e3.65' });
  });
});

describe('with nothing left to spend', () => {
  const budget = { nanoUsd: 3_000 };
  const spend = { usage: noUsage, nanoUsd: 1_000 };

  test('recovery does not begin', () => {
    const ended = planning({ budget });
    expect(ended.phase).toMatchObject({ outcome: { status: 'failed', reason: 'guard_budget' } });
    expect(ended.recovery.plans).toBe(0);
  });

  test.each([
    ['escalate', 0.9],
    ['alternative-tool', 0.9],
    ['alternative-tool', 0.6],
    ['retry', 0.9],
    ['give-up', 0.6],
  ] as const)('a plan of %s at %d, which took the rest, is not carried out', (strategy, sure) => {
    const run = planning({ budget: { nanoUsd: 4_000 } });
    const call = aCall('own', { input: { query: 'y' } });
    const [ended, commands] = takeAll(run, planned(strategy, sure, { call, spend }));
    expect(ended.phase).toMatchObject({ outcome: { status: 'failed', reason: 'guard_budget' } });
    expect(typesOf(commands)).not.toContain('run-tool');
    expect(typesOf(commands)).not.toContain('start-timer');
  });
});

test('a plan that comes at the limit of events is not carried out', () => {
  const limits = aLimits({ maxEvents: 6 });
  const [ended] = takeAll(planning({ limits }), planned('escalate', 0.9));
  expect(ended.phase).toMatchObject({ outcome: { status: 'failed', reason: 'guard_events' } });
});

describe('a person who takes the run over while a plan is made', () => {
  const over = { type: 'escalation-requested', reason: 'I do it' } as const;

  test.each([
    ['escalate', 0.9],
    ['give-up', 0.9],
    ['give-up', 0.6],
    ['alternative-tool', 0.6],
    ['alternative-tool', 0.9],
  ] as const)('comes before a plan of %s at %d', (strategy, confidence) => {
    const call = aCall('own', { input: { query: 'y' } });
    const [waiting] = takeAll(planning(), over, planned(strategy, confidence, { call }));
    expect(pendingItems(waiting)).toMatchObject([
      { questionId: 'escalation', question: 'I do it' },
    ]);
    const answer = { type: 'question-answered', questionId: 'escalation', answer: 'look' } as const;
    const [after, commands] = takeAll(waiting, answer);
    expect(after.phase.type).toBe('calling-model');
    expect(commands.find(({ type }) => type === 'call-model')).toMatchObject({
      input: { userTexts: ['look'] },
    });
  });

  test('comes before the heuristic where the plan fails', () => {
    const lost = { type: 'recovery-plan-failed', callId: 'r3', failure: anInfraError('timeout') };
    const [waiting] = takeAll(planning(), over, lost as UnstampedEvent);
    expect(pendingItems(waiting)).toMatchObject([{ questionId: 'escalation' }]);
  });
});
