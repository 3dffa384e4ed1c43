/** What a run's steps count and trace, in whole runs of the core. */
import { countsOf } from '../../telemetry/workflow/run-metrics';
import { createRunSpans } from '../../telemetry/workflow/run-spans';
import type { CountRecord, SpanRecord } from '../../telemetry/workflow/step-report';
import { traceContextOf } from '../../telemetry/workflow/trace-context';
import type { RunState } from '../../workflows/core/run/state';
import { aLimits, anAgentError, anInfraError, aSnapshot } from '../support/builders';
import type { DrivenWorld, RunDriver } from '../support/run-driver';
import { drive } from '../support/run-driver';
import { cases, fc } from '../support/properties';
import { playRun, randomRun } from '../support/random-runs';
import type { ScriptedReply } from '../support/scripted-reply';

interface Observed {
  readonly run: RunDriver;
  readonly spans: readonly SpanRecord[];
  /** Sum of a counter, of the samples with all of these tags. */
  readonly count: (name: CountRecord['name'], tags?: Readonly<Record<string, string>>) => number;
}

const ids = {
  runId: '01a22790-a2ac-7ba3-a408-df15a3132f76',
  firstExecutionRunId: '01a22790-8d12-7d26-927b-d5a31ff5de5d',
};

type Watch = NonNullable<DrivenWorld['watch']>;

/** Observes a run that `play` plays. */
function observe(play: (watch: Watch) => RunDriver): Observed {
  const counts: CountRecord[] = [];
  const spans: SpanRecord[] = [];
  const runSpans = createRunSpans(traceContextOf(ids, {}), 'run-1');
  let before: RunState | undefined;
  const run = play((state, commands, event) => {
    const known = before === undefined ? {} : { before };
    const step = { ...known, event, decided: [state, commands] as const };
    before = state;
    counts.push(...countsOf(step));
    spans.push(...runSpans.take(step));
  });
  return {
    run,
    spans,
    count: (name, tags = {}) =>
      counts
        .filter((each) => each.name === name)
        .filter((each) => Object.entries(tags).every(([key, value]) => each.tags[key] === value))
        .reduce((sum, { value }) => sum + value, 0),
  };
}

function observed(
  script: Parameters<typeof drive>[0],
  world: Omit<DrivenWorld, 'model' | 'watch'> = {},
): Observed {
  return observe((watch) => drive(script, { ...world, watch }));
}

const divide: ScriptedReply = { calls: [{ name: 'calculator', input: { a: 100, b: 0 } }] };
const patient = { prepare: () => aSnapshot({ limits: aLimits({ maxSameCalls: 20 }) }) };

test('counts errors, retries and the breaker of a run that repeats one error', () => {
  const { run, count, spans } = observed([divide, divide, divide, divide, divide], {
    ...patient,
    tool: () => ({ error: anAgentError({ message: 'division by zero', toolName: 'calculator' }) }),
  });
  expect(run.outcome.status).toBe('failed');
  const code = 'tool_execution_failed';
  expect(count('agent_errors_recoverable', { code })).toBe(5);
  expect(count('agent_retry_attempts', { tool: 'calculator' })).toBe(5);
  expect(count('agent_runs_ended', { status: 'failed', reason: 'circuit_breaker' })).toBe(1);
  expect(count('agent_corrections')).toBe(1);
  expect(count('agent_corrections_first_retry')).toBe(0);
  expect(count('agent_iterations')).toBe(5);
  expect(count('agent_tool_calls', { tool: 'calculator' })).toBe(5);
  const names = spans.map(({ name }) => name.split(' ')[0]);
  expect(names.filter((name) => name === 'chat')).toHaveLength(5);
  expect(names.filter((name) => name === 'execute_tool')).toHaveLength(5);
  expect(spans.filter(({ error }) => error !== undefined)).toHaveLength(5);
});

test('counts what was over at the first retry', () => {
  const { count, run } = observed([divide, divide, { text: 'Done.' }], {
    ...patient,
    tool: (_input, call) =>
      call === 1 ? { error: anAgentError({ toolName: 'calculator' }) } : { output: '7' },
  });
  expect(run.outcome.report.corrections).toMatchObject({ troubles: 1, atFirstRetry: 1 });
  expect(count('agent_corrections')).toBe(1);
  expect(count('agent_corrections_first_retry')).toBe(1);
  expect(count('agent_errors_healed')).toBe(1);
});

test('tags no name that a model made up', () => {
  const error = anAgentError({ code: 'invalid_tool', toolName: 'rm -rf / && sk-secret' });
  const call = { name: 'rm -rf / && sk-secret', error };
  const { count } = observed([{ calls: [call] }, { text: 'Done.' }], patient);
  expect(count('agent_retry_attempts', { tool: 'unknown' })).toBe(1);
});

test('counts tokens and cost once, as the report does', () => {
  const { count, run } = observed([divide, { text: 'Done.' }], {
    ...patient,
    tool: () => ({ output: 'ok' }),
  });
  const { usage } = run.outcome.report;
  expect(count('agent_tokens', { type: 'input' })).toBe(usage.inputTokens);
  expect(count('agent_tokens', { type: 'output' })).toBe(usage.outputTokens);
  expect(count('agent_tokens', { type: 'output' })).toBeGreaterThan(0);
  expect(count('agent_cost_nanousd')).toBe(run.state.budget.spentNanoUsd);
});

test('counts failures of providers, cooldowns and waits', () => {
  const failure = anInfraError('rate_limit', { route: 'anthropic/claude-sonnet-4-5' });
  const { count, run } = observed([failure, failure, { text: 'Done.' }]);
  expect(run.outcome.status).toBe('completed');
  const failed = count('agent_infra_errors', { code: 'rate_limit', provider: 'anthropic' });
  expect(failed).toBeGreaterThan(0);
  expect(count('agent_provider_cooldowns', { reason: 'rate_limit' })).toBe(failed);
  expect(count('agent_waits_started')).toBe(count('agent_waits_ended'));
  expect(
    count('agent_waits_started', { kind: 'provider' }) + count('agent_provider_failovers'),
  ).toBeGreaterThan(0);
});

test('the counts of any run over any roll-overs are those of its report', () => {
  fc.assert(
    fc.property(randomRun, (random) => {
      const { run, count, spans } = observe((watch) => playRun(random, { watch, rollsOver: true }));
      const { report, status } = run.outcome;
      const { troubles = 0, atFirstRetry = 0 } = report.corrections ?? {};
      const sum = (counts: Readonly<Record<string, number>>): number =>
        Object.values(counts).reduce((total, each) => total + each, 0);
      expect({
        iterations: count('agent_iterations'),
        troubles: count('agent_corrections'),
        atFirstRetry: count('agent_corrections_first_retry'),
        healed: count('agent_errors_healed'),
        compactions: count('agent_compactions'),
        ended: count('agent_runs_ended', { status }),
        started: count('agent_runs_started'),
      }).toEqual({
        iterations: report.iterations,
        troubles,
        atFirstRetry,
        healed: sum(report.healed),
        compactions: report.compactions ?? 0,
        ended: 1,
        started: 1,
      });
      expect(count('agent_waits_ended')).toBeLessThanOrEqual(count('agent_waits_started'));
      expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
      expect(spans.filter(({ startMs, endMs }) => endMs < startMs)).toEqual([]);
    }),
    cases(25),
  );
});
