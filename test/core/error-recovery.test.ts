/** Whole runs with errors: the model corrects its own mistakes, people get everything else at once (R-ERR-6, R-TOOL-6). */
import { aSnapshot, aTool, anAgentError, anInfraError } from '../support/builders';
import { drive } from '../support/run-driver';

const missing = anAgentError({
  code: 'invalid_params',
  message: "Parameter 'query' is required but was not provided",
  hint: "Example: 'AI trends 2026'",
  toolName: 'search',
});

test('test_missing_parameter_recovery', () => {
  const run = drive([
    { calls: [{ name: 'search', error: missing }] },
    { calls: [{ name: 'search', input: { query: 'test' } }] },
    { text: 'success' },
  ]);
  expect(run.outcome).toMatchObject({ status: 'completed', answer: 'success' });
  expect(run.toolRuns).toHaveLength(1);
  const [first, second, third] = run.requests;
  expect(second?.input.note).toContain(missing.message);
  expect(second?.messages).toEqual(first?.messages);
  expect(third?.input.note).toBeUndefined();
  expect(run.state.healed).toEqual({ invalid_params: 1 });
});

test('test_infrastructure_error_fails_fast', () => {
  const run = drive([{ calls: [{ name: 'search', input: { query: 'test' } }] }], {
    tool: () => anInfraError('tool_infrastructure', { message: 'Network down' }),
  });
  expect(run.outcome).toMatchObject({
    status: 'failed',
    reason: 'infra',
    message: 'System error: Network down',
    failure: { code: 'tool_infrastructure' },
  });
  expect(run.toolRuns).toHaveLength(1);
  expect(run.requests).toHaveLength(1);
});

test('a division by zero is told to the user, and leaves one truthful result', () => {
  const run = drive(
    [
      { calls: [{ name: 'calculator', input: { a: 100, b: 0, op: 'divide' } }] },
      { text: 'I cannot divide by zero.' },
    ],
    { tool: () => ({ error: anAgentError() }) },
  );
  expect(run.outcome).toMatchObject({ status: 'completed', answer: 'I cannot divide by zero.' });
  expect(run.requests[1]?.input.note).toContain('The error was: division by zero');
  expect(run.transcript.map((message) => message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ]);
  expect(run.entries.map((entry) => entry.type)).toEqual(
    expect.arrayContaining(['ToolResultErrorEvent', 'ErrorEvent']),
  );
  // The division was told, not healed.
  expect(run.state.healed).toEqual({});
});

test('a call that was written as text is corrected, and the report names the text protocol once', () => {
  const written = anAgentError({ code: 'no_tool_call', message: 'A call as text.' });
  const run = drive([
    { text: '{…}', error: written, wroteCall: true },
    { text: '{…}', error: { ...written, message: 'Again.' }, wroteCall: true },
    { text: 'done' },
  ]);
  expect(run.outcome).toMatchObject({ status: 'completed', answer: 'done' });
  expect(run.outcome.report.advice).toEqual([
    expect.stringMatching(/^\S+\/\S+ wrote a tool call as text\. .*toolProtocol: 'text'/),
  ]);
  const taught = drive([{ text: '', error: written }, { text: 'done' }]);
  expect(taught.outcome.report.advice).toBeUndefined();
});

test('the note lists read_output only once a request has offered it', () => {
  const wrong = { name: 'erase', error: anAgentError({ code: 'invalid_tool' }) };
  const run = drive(
    [
      { calls: [wrong] },
      { calls: [{ name: 'search', input: {} }], offersReadOutput: true },
      { calls: [wrong] },
      { calls: [wrong] },
      { text: 'done' },
    ],
    { prepare: () => aSnapshot({ tools: [aTool('search'), aTool('read_output')] }) },
  );
  const notes = run.requests.map(({ input }) => input.note?.includes('read_output'));
  expect(notes).toEqual([undefined, false, undefined, true, true]);
});
