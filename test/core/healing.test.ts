/** What counts as healed, by whom, and how often the model corrects itself at its first retry. */
import { pendingItems } from '../../workflows/core/view/pending';
import { anAgentError, aRecoveryPolicy, aSnapshot, aTool } from '../support/builders';
import type { DrivenWorld, ScriptedToolResult } from '../support/run-driver';
import { drive, RunDriver } from '../support/run-driver';
import type { ScriptedCall, ScriptedReply } from '../support/scripted-reply';

const read = (path: string): ScriptedCall => ({ name: 'search', input: { path } });
const calls = (...made: readonly ScriptedCall[]): ScriptedReply => ({ calls: made });
const done: ScriptedReply = { text: 'done' };
const unknown: ScriptedCall = {
  name: 'serch',
  error: anAgentError({ code: 'invalid_tool', message: 'there is no tool serch' }),
};
const misshapen = (path: string): ScriptedCall => ({
  ...read(path),
  error: anAgentError({ code: 'invalid_params', toolName: 'search', message: `bad ${path}` }),
});

/** Reads fail while their path holds "bad", or as often as the path says. */
function reads(): NonNullable<DrivenWorld['tool']> {
  const failed = new Map<string, number>();
  return ({ input }): ScriptedToolResult => {
    const path = JSON.stringify(input?.['path'] ?? '').slice(1, -1);
    const times = (failed.get(path) ?? 0) + 1;
    failed.set(path, times);
    const [, limit = path.includes('bad') ? 99 : 0] = /flaky(\d)/.exec(path) ?? [];
    return times > Number(limit)
      ? { output: `text of ${path}` }
      : { error: anAgentError({ toolName: 'search', message: `no ${path}` }) };
  };
}

type Expected = {
  readonly healed: { readonly [code: string]: number };
  readonly healedBy: { readonly [by: string]: number };
  readonly corrections?: { readonly troubles: number; readonly atFirstRetry: number };
};

const failure = 'tool_execution_failed';
const nothing = { healed: {}, healedBy: {} };

test.each<[string, readonly ScriptedReply[], Expected]>([
  [
    'a next try with something changed',
    [calls(read('bad')), calls(read('good')), done],
    {
      healed: { [failure]: 1 },
      healedBy: { model: 1 },
      corrections: { troubles: 1, atFirstRetry: 1 },
    },
  ],
  [
    'the same call that works the second time',
    [calls(read('flaky1')), calls(read('flaky1')), done],
    {
      healed: { [failure]: 1 },
      healedBy: { retry: 1 },
      corrections: { troubles: 1, atFirstRetry: 1 },
    },
  ],
  [
    'one trouble once, however often it came again',
    [calls(read('bad 1')), calls(read('bad 2')), calls(read('good')), done],
    {
      healed: { [failure]: 1 },
      healedBy: { model: 1 },
      corrections: { troubles: 1, atFirstRetry: 0 },
    },
  ],
  [
    'nothing that another tool did',
    [calls(read('bad')), calls({ name: 'calculator' }), done],
    { ...nothing, corrections: { troubles: 1, atFirstRetry: 0 } },
  ],
  [
    'nothing that the answer leaves as it is',
    [calls(read('bad')), done],
    { ...nothing, corrections: { troubles: 1, atFirstRetry: 0 } },
  ],
  [
    'nothing where the tool is used for something else, later',
    [calls(read('bad')), calls({ name: 'calculator' }), calls(read('good')), done],
    { ...nothing, corrections: { troubles: 1, atFirstRetry: 0 } },
  ],
  [
    'the same input whenever it works, whatever the order of its keys',
    [
      calls({ name: 'search', input: { path: 'flaky1', depth: 2 } }),
      calls({ name: 'calculator' }),
      calls({ name: 'calculator', input: { a: 1 } }),
      calls({ name: 'search', input: { depth: 2, path: 'flaky1' } }),
      done,
    ],
    {
      healed: { [failure]: 1 },
      healedBy: { retry: 1 },
      corrections: { troubles: 1, atFirstRetry: 1 },
    },
  ],
  [
    'one of two troubles by one next try',
    [calls(read('bad 1'), read('bad 2')), calls(read('good')), done],
    {
      healed: { [failure]: 1 },
      healedBy: { model: 1 },
      corrections: { troubles: 2, atFirstRetry: 1 },
    },
  ],
  [
    'a success beside it never',
    [calls(read('bad'), read('good')), done],
    { ...nothing, corrections: { troubles: 1, atFirstRetry: 0 } },
  ],
  [
    'an unknown tool by any reply that works, unless it comes again beside',
    [calls(unknown), calls(unknown, read('good 1')), calls(read('good 2')), done],
    {
      healed: { invalid_tool: 1 },
      healedBy: { model: 1 },
      corrections: { troubles: 1, atFirstRetry: 0 },
    },
  ],
  [
    'all wrong parameters of a tool by one that fits',
    [calls(misshapen('a'), misshapen('b'), misshapen('c')), calls(read('good')), done],
    {
      healed: { invalid_params: 3 },
      healedBy: { model: 3 },
      corrections: { troubles: 3, atFirstRetry: 3 },
    },
  ],
  [
    'a failure across a reply that came to nothing',
    [calls(read('bad')), { text: '' }, calls(read('good')), done],
    {
      healed: { [failure]: 1, empty_reply: 1 },
      healedBy: { model: 2 },
      corrections: { troubles: 2, atFirstRetry: 2 },
    },
  ],
  [
    'a failure across a reply whose only call names no tool',
    [calls(read('bad')), calls(unknown), calls(read('good')), done],
    {
      healed: { [failure]: 1, invalid_tool: 1 },
      healedBy: { model: 2 },
      corrections: { troubles: 2, atFirstRetry: 2 },
    },
  ],
])('heals %s', (_what, replies, { corrections, ...expected }) => {
  const { outcome, entries } = drive(replies, { tool: reads() });
  const { healed, healedBy } = outcome.report;
  expect({ healed, healedBy }).toEqual(expected);
  expect(outcome.report.corrections).toEqual(
    corrections && { ...corrections, rate: corrections.atFirstRetry / corrections.troubles },
  );
  const notified = entries.filter(({ type }) => type === 'HealedEvent');
  expect(notified).toHaveLength(
    Object.values(expected.healed).reduce((sum, each) => sum + each, 0),
  );
});

test('a run without mistakes has no rate', () => {
  expect(drive([calls(read('good')), done], { tool: reads() }).outcome.report).not.toHaveProperty(
    'corrections',
  );
});

describe('what others did', () => {
  const policy = aRecoveryPolicy();
  const snapshot = () =>
    aSnapshot({ tools: [aTool('search'), aTool('calculator')], recovery: policy });

  test('is not the model: a person who answers', () => {
    const driver = new RunDriver({
      prepare: snapshot,
      model: ({ messages }) =>
        JSON.stringify(messages).includes('text of good')
          ? done
          : calls(read(JSON.stringify(messages).includes('it is good') ? 'good' : 'bad')),
      tool: reads(),
    });
    while (pendingItems(driver.state).length === 0 && driver.step());
    const [item] = pendingItems(driver.state);
    const questionId = item?.type === 'question' ? item.questionId : '';
    driver.say({ type: 'question-answered', questionId, answer: 'it is good' });
    expect(driver.run().outcome.report).toMatchObject({
      healedBy: { person: 1 },
      corrections: { troubles: 1, atFirstRetry: 0 },
    });
  });

  test('is not the model: recovery whose advice it follows', () => {
    const driver = new RunDriver({
      prepare: snapshot,
      model: ({ input, messages }) =>
        JSON.stringify(messages).includes('text of good')
          ? done
          : calls(read(input.note?.includes('Way out') === true ? 'good' : 'bad')),
      tool: reads(),
    });
    expect(driver.run().outcome.report).toMatchObject({
      healedBy: { recovery: 1 },
      corrections: { troubles: 1, atFirstRetry: 0 },
    });
  });

  test('heals nothing: a rejection', () => {
    const asks = { ...read('good'), needsApproval: true };
    const driver = new RunDriver({
      prepare: snapshot,
      model: (_request, call) => [calls(asks), calls(read('other'))][call - 1] ?? done,
      tool: reads(),
    });
    while (pendingItems(driver.state).length === 0 && driver.step());
    const [item] = pendingItems(driver.state);
    const approvalId = item?.type === 'approval' ? item.approvalId : '';
    driver.say({ type: 'approval-resolved', approvalId, decision: 'reject' });
    const { report } = driver.run().outcome;
    expect(report).toMatchObject({ healed: {}, healedBy: {}, toolCallsFailed: 1 });
    expect(report).not.toHaveProperty('corrections');
  });
});
