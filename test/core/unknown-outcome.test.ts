/** What becomes of a call of which nobody knows whether it took effect: the model is told, or a person is asked. */
import { rejectAnswer } from '../../workflows/core/run/people-input';
import type { RunState } from '../../workflows/core/run/state';
import { pendingItems } from '../../workflows/core/view/pending';
import {
  aCall,
  aRunWithCalls,
  aTool,
  aToolResult,
  anAgentError,
  takeAll,
} from '../support/builders';

const error = anAgentError({
  code: 'outcome_unknown',
  message: 'the worker died',
  toolName: 'pay',
});
const unknown = {
  type: 'tool-call-completed',
  toolCallId: 'a',
  result: aToolResult({ error, isOutcomeUnknown: true }),
} as const;

function payRun(onUnknown?: 'ask-person'): RunState {
  const pay = aTool('pay', { effect: 'irreversible', ...(onUnknown && { onUnknown }) });
  return aRunWithCalls([aCall('a', { name: 'pay' })], { tools: [pay] })[0];
}

test('a person is asked with the evidence, and the answer is the result', () => {
  const [waiting] = takeAll(payRun('ask-person'), unknown);
  const [item] = pendingItems(waiting);
  expect(item).toMatchObject({ type: 'question', questionId: 'a' });
  expect(JSON.stringify(item)).toContain('the worker died');
  expect(rejectAnswer(waiting, { questionId: 'a', answer: 'It was paid.' })).toBeUndefined();
  const [after, commands] = takeAll(waiting, {
    type: 'question-answered',
    questionId: 'a',
    answer: 'It was paid.',
  });
  expect(after.phase.type).toBe('calling-model');
  const call = commands.find((command) => command.type === 'call-model');
  expect(call).toMatchObject({
    input: { pendingResults: [{ toolCallId: 'a', isError: false }] },
  });
  expect(JSON.stringify(call)).toContain('a person looked into what came of it: It was paid.');
  expect(after.didNotWork).toEqual([]);
});

test('the model is told where the tool does not ask', () => {
  const [after, commands] = takeAll(payRun(), unknown);
  expect(pendingItems(after)).toEqual([]);
  expect(JSON.stringify(commands)).toContain('the worker died');
});

test('nobody is asked in a run that fails anyway', () => {
  const pay = aTool('pay', { effect: 'irreversible', onUnknown: 'ask-person' });
  const [run] = aRunWithCalls([aCall('a', { name: 'pay' }), aCall('b', { name: 'pay' })], {
    tools: [pay],
  });
  const [ended] = takeAll(
    run,
    {
      type: 'tool-call-failed',
      toolCallId: 'b',
      failure: { kind: 'infra', code: 'tool_infrastructure', message: 'the disk is full' },
    },
    unknown,
  );
  expect(ended.phase.type).toBe('ended');
});

test('a call that is stopped with its run says in the report that its effect is not known', () => {
  const [ended] = takeAll(
    payRun(),
    { type: 'stop-requested', reason: 'enough' },
    {
      type: 'tool-call-failed',
      toolCallId: 'a',
      failure: { kind: 'infra', code: 'tool_infrastructure', message: 'cancelled' },
    },
  );
  expect(ended.phase).toMatchObject({
    outcome: {
      status: 'stopped',
      report: { didNotWork: ['pay: stopped with the run; whether it took effect is not known'] },
    },
  });
});
