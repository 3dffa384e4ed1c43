/** A vendor that refuses the thoughts that a request sends back: one repeat per route and run, remembered, and no second refusal. */
import type { InfraError } from '../../workflows/core/failure';
import { anInfraError, aRoute, aSnapshot } from '../support/builders';
import { RunDriver } from '../support/run-driver';
import type { ScriptedReply } from '../support/scripted-reply';

const chain = [aRoute(), aRoute({ provider: 'beta', model: 'model-2' })];

function drive(answers: readonly (ScriptedReply | InfraError)[], routes = chain): RunDriver {
  return new RunDriver({
    prepare: () => aSnapshot({ chain: routes }),
    model: (_request, call) => answers[call - 1] ?? { text: 'one call too many' },
  }).run();
}

const refused = (thoughts: 'omitted' | 'with-text'): InfraError =>
  anInfraError('format', { thoughts });
const look: ScriptedReply = { calls: [{ name: 'search' }] };
const asked = (run: RunDriver): readonly (readonly [number, string | undefined])[] =>
  run.requests.map(({ input }) => [input.routeIndex, input.thoughts]);

test('the same route is asked once more, and every later request is as it wants them', () => {
  const run = drive([look, refused('omitted'), look, look, { text: 'done' }]);
  expect(run.outcome).toMatchObject({
    status: 'completed',
    report: { failovers: 0, healed: { format: 1 } },
  });
  expect(asked(run)).toEqual([
    [0, undefined],
    [0, undefined],
    [0, 'omitted'],
    [0, 'omitted'],
    [0, 'omitted'],
  ]);
});

test('a second refusal is a refusal as any other', () => {
  const run = drive([refused('with-text'), refused('omitted')], [aRoute()]);
  expect(run.outcome).toMatchObject({ status: 'failed', reason: 'infra' });
  expect(asked(run)).toEqual([
    [0, undefined],
    [0, 'with-text'],
  ]);
});

test('what one route has shown is not said to another', () => {
  const run = drive([
    refused('omitted'),
    anInfraError('billing'),
    look,
    refused('with-text'),
    { text: 'done' },
  ]);
  expect(run.outcome.status).toBe('completed');
  expect(asked(run)).toEqual([
    [0, undefined],
    [0, 'omitted'],
    [1, undefined],
    [1, undefined],
    [1, 'with-text'],
  ]);
});

test('a larger output limit stays for the repeat', () => {
  const cut = { stopReason: 'truncated', text: 'half' } as const;
  const run = drive([cut, refused('omitted'), { text: 'done' }]);
  expect(run.requests.map(({ input }) => input.maxOutputTokens)).toEqual([undefined, 8_192, 8_192]);
});

test('one cut reply after the other doubles the limit, up to half of the window', () => {
  const cut = { stopReason: 'truncated', text: 'half' } as const;
  const route = aRoute({ windowTokens: 40_000 });
  const run = drive([cut, cut, cut, look, cut, { text: 'done' }], [route]);
  expect(run.outcome.status).toBe('completed');
  expect(run.requests.map(({ input }) => input.maxOutputTokens)).toEqual([
    undefined,
    8_192,
    16_384,
    16_384,
    // A whole reply ends it.
    undefined,
    8_192,
  ]);
});

test('the model reads which call was cut', () => {
  const message = 'The reply was cut off within the arguments of search.';
  const error = { kind: 'agent', code: 'output_truncated', message, recoverable: true } as const;
  const run = drive([{ stopReason: 'truncated', error }, { text: 'done' }]);
  expect(run.requests[1]?.input.note).toContain('cut off');
});

describe('a vendor that refuses to enforce the form of a reply', () => {
  const refusedForm = anInfraError('format', { structure: 'refused' });
  const formsOf = (run: RunDriver): readonly (readonly [number, true | undefined])[] =>
    run.requests.map(({ input }) => [input.routeIndex, input.unstructured]);

  test('is asked again without it, and never asked for it again in the run', () => {
    const run = drive([refusedForm, look, look, { text: 'done' }]);
    expect(run.outcome).toMatchObject({ status: 'completed', report: { failovers: 0 } });
    expect(formsOf(run)).toEqual([
      [0, undefined],
      [0, true],
      [0, true],
      [0, true],
    ]);
  });

  test('may refuse for another reason, which is then a refusal as any other', () => {
    const run = drive([refusedForm, refusedForm], [aRoute()]);
    expect(run.outcome).toMatchObject({ status: 'failed', reason: 'infra' });
    expect(formsOf(run)).toEqual([
      [0, undefined],
      [0, true],
    ]);
  });

  test('may also refuse thoughts: each is repeated once', () => {
    const run = drive([refusedForm, refused('omitted'), { text: 'done' }]);
    expect(run.outcome.status).toBe('completed');
    expect(asked(run).at(-1)).toEqual([0, 'omitted']);
    expect(formsOf(run).at(-1)).toEqual([0, true]);
  });
});
