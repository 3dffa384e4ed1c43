/** Before an iteration: whether a run begins to recover, what from, and by which route a model is asked. */
import type { FailedCall, RecoveryPolicy } from '../../workflows/core/recovery/action';
import { recoveryGate } from '../../workflows/core/recovery/gate';
import type { ProgressState, RecoveryState } from '../../workflows/core/recovery/state';
import type { RouteHealth } from '../../workflows/core/failover/state';
import type { RunState } from '../../workflows/core/run/state';
import { aPreparedRun, aRecoveryPolicy, startMs } from '../support/builders';

interface Given {
  readonly policy?: Partial<RecoveryPolicy>;
  readonly progress?: Partial<ProgressState>;
  readonly recovery?: Partial<RecoveryState>;
  readonly failures?: readonly FailedCall[];
  readonly routes?: Readonly<Record<string, RouteHealth>>;
}

function aRun({ policy, progress, recovery, failures = [], routes = {} }: Given): RunState {
  const run = aPreparedRun({ recovery: aRecoveryPolicy(policy) });
  return {
    ...run,
    health: { routes },
    recovery: { ...run.recovery, ...recovery },
    progress: { ...run.progress, memory: { ...run.progress.memory, failures }, ...progress },
  };
}

/** What the gate publishes, and what it asks a model; undefined if the iteration starts as usual. */
function gate(given: Given) {
  const move = recoveryGate(aRun(given), startMs);
  if (move === undefined) return undefined;
  const entries = move.commands.flatMap((each) => (each.type === 'publish' ? [each.entry] : []));
  const plan = move.commands.find((each) => each.type === 'plan-recovery');
  return { state: move.state, types: entries.map(({ type }) => type), entries, plan };
}

const idle = { steps: 5, idleSteps: 3 };
const latest = { tool: 'search', action: 'search x', outcome: 'nothing', success: true };
const failure: FailedCall = {
  ...{ tool: 'search', code: 'tool_execution_failed', message: 'no row' },
  ...{ times: 1, lastStep: 5 },
};

test('a run that is stuck asks for a plan once a step, and says how far it was', () => {
  const { state, entries, plan } = gate({ progress: { ...idle, latest } }) ?? {};
  expect(entries).toEqual([
    {
      ...{ type: 'StuckEvent', progressPercent: 0, blockers: [] },
      reason: 'The last 3 steps brought nothing new.',
    },
  ]);
  expect(plan).toMatchObject({
    ...{ callId: 'r1', summary: 'plan a recovery' },
    input: { purpose: 'plan', routeIndex: 0, thresholds: { actAt: 0.8, askAt: 0.5 } },
  });
  expect(plan?.input.context).toMatchObject({
    ...{ goal: 'search for test', steps: 5, latest },
    trouble: {
      ...{ tool: 'search', code: 'no_progress' },
      message: 'The last 3 steps brought nothing new.',
    },
  });
  expect(plan?.input).not.toHaveProperty('pendingResults');
  expect(state?.phase).toMatchObject({ type: 'recovering', stage: { type: 'planning' } });
});

test.each<[string, Given]>([
  ['that gets on', { progress: { steps: 5 } }],
  ['whose step was dealt with', { progress: idle, recovery: { handledStep: 5 } }],
  ['that does not recover', { progress: idle, policy: { mode: 'off' } }],
  [
    'that only observes, and has used up its plans',
    { progress: idle, recovery: { plans: 5 }, policy: { mode: 'observe' } },
  ],
])('a run starts its iteration as usual: one %s', (_, given) => {
  expect(gate(given)).toBeUndefined();
});

test('a run without plans left asks a person', () => {
  expect(gate({ progress: idle, recovery: { plans: 4 } })?.plan).toBeDefined();
  const { types, plan, state } = gate({ progress: idle, recovery: { plans: 5 } }) ?? {};
  expect(types).toEqual(['StuckEvent', 'EscalatedEvent', 'WaitStartedEvent']);
  expect(plan).toBeUndefined();
  expect(state?.phase).toMatchObject({ stage: { type: 'escalated' } });
});

test('a remedy that proved useless is followed by the next at once, for the same trouble', () => {
  const refuted = { refutedStep: 5, tried: ['one', 'two'], refutedTrouble: 'no key' };
  const { entries, plan } = gate({ progress: { steps: 5 }, recovery: refuted }) ?? {};
  expect(entries?.[0]).toMatchObject({ reason: 'The last recovery did not help: two' });
  expect(plan?.input.context.trouble).toEqual({ tool: '', code: 'no_progress', message: 'no key' });
  expect(gate({ progress: { steps: 6 }, recovery: refuted })).toBeUndefined();
  const old = gate({ progress: { ...idle, steps: 6 }, recovery: refuted });
  expect(old?.plan?.input.context.trouble.message).toBe('The last 3 steps brought nothing new.');
  const { refutedTrouble: __, ...unnamed } = refuted;
  expect(
    gate({ progress: { steps: 5 }, recovery: unnamed })?.plan?.input.context.trouble.message,
  ).toBe('The last recovery did not help: two');
});

test('the trouble is the failure that came most often in the steps in which the run got stuck', () => {
  const troubleOf = (...failures: readonly FailedCall[]): unknown =>
    gate({ progress: idle, failures })?.plan?.input.context.trouble;
  const often = { ...failure, message: 'often', times: 2, lastStep: 3, input: { query: 'x' } };
  const { times: _t, lastStep: _l, ...named } = often;
  expect(troubleOf(often, failure)).toEqual(named);
  expect(troubleOf(failure, { ...failure, message: 'newer' })).toMatchObject({ message: 'newer' });
  expect(troubleOf({ ...often, lastStep: 2 }, failure)).toMatchObject({ message: 'no row' });
  expect(troubleOf({ ...often, lastStep: 2 })).toMatchObject({ code: 'no_progress' });
});

test('a model estimates the progress when it is time, and nothing is known to be wrong', () => {
  const policy = { estimateEvery: 3 };
  expect(gate({ policy, progress: { steps: 4 }, recovery: { estimatedStep: 2 } })).toBeUndefined();
  const { state, types, plan } =
    gate({ policy, progress: { steps: 5 }, recovery: { estimatedStep: 2 } }) ?? {};
  expect(types).toEqual([]);
  expect(plan).toMatchObject({
    ...{ callId: 'r1.1', summary: 'estimate the progress' },
    input: { purpose: 'estimate', context: { trouble: { message: 'The progress is estimated.' } } },
  });
  expect(state?.recovery.estimatedStep).toBe(5);
  expect(gate({ progress: { steps: 500 } })).toBeUndefined();
});

test('the model of the first route that has not to rest is asked, as a probe where it was down', () => {
  const rests = (untilMs: number): RouteHealth => ({
    ...{ status: 'down', errorCount: 1, cooldownUntilMs: untilMs, probeFromMs: untilMs },
  });
  const [alpha, beta] = ['alpha/model-1', 'beta/model-2'] as const;
  const routeOf = (routes: Readonly<Record<string, RouteHealth>>): unknown => {
    const { routeIndex, probe } = gate({ progress: idle, routes })?.plan?.input ?? {};
    return [routeIndex, probe];
  };
  const later = startMs + 600_000;
  expect(routeOf({ [alpha]: rests(later) })).toEqual([1, undefined]);
  expect(routeOf({ [alpha]: rests(later), [beta]: rests(later) })).toEqual([undefined, undefined]);
  expect(routeOf({ [alpha]: rests(startMs - 1) })).toEqual([0, true]);
  expect(
    gate({ progress: idle, routes: { [alpha]: rests(later), [beta]: rests(later) } })?.plan?.input,
  ).not.toHaveProperty('probe');
});
