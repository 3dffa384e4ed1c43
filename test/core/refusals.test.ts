/** One provider's refusal of a request is not every provider's (R-FAIL-7, ADR 0045). */
import type { RouteConfig } from '../../workflows/core/failover/state';
import type { InfraError } from '../../workflows/core/failure';
import { aRoute, aSnapshot, aTool, anInfraError, entriesOf } from '../support/builders';
import type { DrivenWorld, RunDriver } from '../support/run-driver';
import { drive } from '../support/run-driver';
import type { ScriptedReply } from '../support/scripted-reply';

const names = ['alpha', 'beta', 'gamma'] as const;
const chainOf = (...providers: readonly string[]): readonly RouteConfig[] =>
  providers.map((provider, place) => aRoute({ provider, model: `model-${place}` }));

/** A refusal that names who refused. */
const refused = (code: 'format' | 'content_filter', who: string): InfraError =>
  anInfraError(code, { message: `${who} says no.` });
const search: ScriptedReply = { calls: [{ name: 'search' }] };
const done: ScriptedReply = { text: 'done' };

function run(
  script: readonly (ScriptedReply | InfraError)[],
  chain: readonly RouteConfig[] = chainOf(...names),
  world: Omit<DrivenWorld, 'model'> = {},
): RunDriver {
  const prepare = () => aSnapshot({ chain, tools: [aTool('search')] });
  return drive(script, { prepare, ...world });
}

const routes = ({ requests }: RunDriver): readonly number[] =>
  requests.map(({ input }) => input.routeIndex);

function endOf({ outcome }: RunDriver): { readonly reason: string; readonly message: string } {
  if (outcome.status !== 'failed') throw new Error(`the run is ${outcome.status}`);
  return outcome;
}

describe.each(['format', 'content_filter'] as const)('a refusal as %s', (code) => {
  test('is put to the next provider, at once and without a cooldown', () => {
    const driven = run([refused(code, 'alpha'), done]);
    expect(driven.outcome).toMatchObject({
      status: 'completed',
      report: { failovers: 1, healed: { [code]: 1 }, healedBy: { failover: 1 }, modelCalls: 2 },
    });
    expect(routes(driven)).toEqual([0, 1]);
    expect(driven.state.health.routes['alpha/model-0']).toMatchObject({
      status: 'degraded',
      cooldownUntilMs: 0,
      lastErrorReason: code,
    });
    expect(entriesOf(driven.commands)).toContainEqual(
      expect.objectContaining({ type: 'FailoverEvent', to: 'beta/model-1', reason: code }),
    );
  });

  test('by two providers ends the run with both messages, and asks no third', () => {
    const driven = run([refused(code, 'alpha'), refused(code, 'beta')]);
    expect(routes(driven)).toEqual([0, 1]);
    const { reason, message } = endOf(driven);
    expect(reason).toBe(code === 'format' ? 'infra' : code);
    expect(message).toMatch(/beta says no\..*no more are asked: alpha says no\./);
  });

  test('is not put to another model of the same provider', () => {
    const other = run([refused(code, 'alpha'), done], chainOf('alpha', 'alpha', 'beta'));
    expect(routes(other)).toEqual([0, 2]);
    const alone = run([refused(code, 'alpha')], chainOf('alpha', 'alpha'));
    expect(endOf(alone).message).toMatch(/alpha says no\. The chain has no route of another/);
  });

  test('goes nowhere if the route forbids it', () => {
    const [first = aRoute(), ...others] = chainOf(...names);
    const driven = run(
      [refused(code, 'alpha')],
      [{ ...first, onRefusedRequest: 'end-run' }, ...others],
    );
    expect(routes(driven)).toEqual([0]);
    expect(endOf(driven).message).toContain("this route's onRefusedRequest is 'end-run'");
    expect(driven.outcome.report.failovers).toBe(0);
  });
});

test('the provider is asked again in the next iteration, and no more if it refuses twice in a row', () => {
  const no = refused('format', 'alpha');
  const driven = run([no, search, no, search, search, done]);
  expect(driven.outcome.status).toBe('completed');
  expect(routes(driven)).toEqual([0, 1, 0, 1, 1, 1]);
});

test('a provider that answers in between is not given up', () => {
  const no = refused('content_filter', 'alpha');
  const driven = run([no, search, search, no, search, done]);
  expect(driven.outcome.status).toBe('completed');
  expect(routes(driven)).toEqual([0, 1, 0, 0, 1, 0]);
});

test('a run remembers the newest refusal of each provider, and how many iterations in a row it refused', () => {
  const no = refused('format', 'alpha');
  const driven = run([no, search, no, search, done]);
  expect(driven.state.refusedRequests).toEqual([
    { provider: 'alpha', iteration: 2, times: 2, message: 'alpha says no.' },
  ]);
});

test('a refusal in an earlier iteration is none of the one other provider that an iteration asks', () => {
  const overloaded = anInfraError('overloaded');
  const driven = run([
    ...[refused('format', 'alpha'), search, search, overloaded],
    ...[refused('format', 'beta'), done],
  ]);
  expect(driven.outcome.status).toBe('completed');
  expect(routes(driven)).toEqual([0, 1, 0, 0, 1, 2]);
});

test('a provider that is given up stays so after a roll-over, and its message is in the end', () => {
  const no = refused('format', 'alpha');
  const script = [no, search, no, search, search, refused('format', 'beta')];
  const driven = run(script, chainOf('alpha', 'beta'), { wantsRollOver: () => true });
  expect(driven.rollOvers).toBeGreaterThan(0);
  expect(routes(driven)).toEqual([0, 1, 0, 1, 1, 1]);
  expect(endOf(driven).message).toMatch(/beta says no\..*alpha says no\./);
});

describe('the provider that is asked instead', () => {
  test('may fail for a reason of its own: then the one after it is asked', () => {
    const driven = run([refused('format', 'alpha'), anInfraError('billing'), done]);
    expect(driven.outcome).toMatchObject({ status: 'completed', report: { failovers: 2 } });
    expect(routes(driven)).toEqual([0, 1, 2]);
  });

  test('is waited for, since the first would refuse again', () => {
    const script = [refused('format', 'alpha'), anInfraError('overloaded'), done];
    const driven = run(script, chainOf('alpha', 'beta'));
    expect(driven.outcome.status).toBe('completed');
    expect(routes(driven)).toEqual([0, 1, 1]);
    expect(driven.state.providerWaitMs).toBeGreaterThan(0);
  });

  test('ends the run with both reasons if no waiting cures it', () => {
    const script = [
      refused('format', 'alpha'),
      anInfraError('auth', { message: 'beta wants a key.' }),
    ];
    const driven = run(script, chainOf('alpha', 'beta'));
    const { reason, message } = endOf(driven);
    expect(reason).toBe('chain_exhausted');
    expect(message).toContain('alpha/model-0: format (alpha says no.)');
    expect(message).toContain('beta/model-1: auth (beta wants a key.)');
  });
});

test('a reply that a filter stopped counts as a refusal; one that the model declined does not', () => {
  const filtered: ScriptedReply = { stopReason: 'filtered', text: 'I' };
  const driven = run([filtered, done]);
  expect(driven.outcome).toMatchObject({ status: 'completed', answer: 'done' });
  expect(routes(driven)).toEqual([0, 1]);
  const { reason, message } = endOf(run([filtered, filtered]));
  expect(reason).toBe('content_filter');
  expect(message).toMatch(/beta\/model-1 stopped its reply.*alpha\/model-0 stopped its reply/);
  expect(endOf(run([{ stopReason: 'refusal', text: 'no' }])).reason).toBe('refusal');
});
