/** Plans without a model: which way out fits which trouble, and the words that go with it. */
import type { FailedCall, RecoveryTrouble } from '../../workflows/core/recovery/action';
import { heuristicAction, troubleKey } from '../../workflows/core/recovery/heuristics';
import type { RecoveryState } from '../../workflows/core/recovery/state';
import type { CallEvidence } from '../../workflows/core/guard/state';
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import type { RunState } from '../../workflows/core/run/state';
import { aPreparedRun, aRecoveryPolicy, aTool } from '../support/builders';

const failure: FailedCall = {
  ...{ tool: 'search', code: 'tool_execution_failed', message: 'no row' },
  ...{ input: { query: 'x' }, times: 1, lastStep: 1 },
};
const { times: _, lastStep: __, ...trouble } = failure;
const noNews: RecoveryTrouble = { tool: 'search', code: 'no_progress', message: 'Nothing new.' };

interface Given {
  readonly failures?: readonly FailedCall[];
  readonly paths?: readonly string[];
  readonly evidence?: readonly CallEvidence[];
  readonly recovery?: Partial<RecoveryState>;
  readonly snapshot?: Partial<AgentSnapshot>;
}

function aRun(given: Given = {}): RunState {
  const { failures = [], paths = [], evidence = [], recovery = {}, snapshot = {} } = given;
  const run = aPreparedRun({ recovery: aRecoveryPolicy(), ...snapshot });
  const files = paths.map((path) => ({ path, toolCallId: `of ${path}` }));
  return {
    ...run,
    guard: { ...run.guard, evidence },
    recovery: { ...run.recovery, ...recovery },
    progress: { ...run.progress, memory: { ...run.progress.memory, failures, files } },
  };
}

const plan = (given: Given, on: RecoveryTrouble = trouble, exhausted: readonly string[] = []) =>
  heuristicAction(aRun(given), on, exhausted);

describe('a first failure', () => {
  test('gets advice that quotes it, with the hint of the tool', () => {
    expect(plan({ failures: [failure] })).toEqual({
      strategy: 'parameter-adjustment',
      reasoning: 'search failed: "no row". Change the parameters, not only the words around them.',
      action: { toolName: 'search' },
      expectedOutcome: 'The call succeeds, or fails in a new way.',
      confidence: 0.8,
    });
    const hinted = { ...failure, tool: '', hint: 'Name a tool.' };
    expect(plan({ failures: [hinted] }, { ...trouble, tool: '' }).reasoning).toBe(
      'The reply failed: "no row". Name a tool. Change the parameters, not only the words around them.',
    );
  });

  test.each(['rate_limit', 'tool_timeout'] as const)('that may pass is retried: %s', (code) => {
    const failed = { ...failure, code };
    expect(plan({ failures: [failed] }, { ...trouble, code })).toMatchObject({
      strategy: 'retry',
      reasoning: `search failed with ${code}, which may pass by itself.`,
      action: { toolName: 'search', parameters: { query: 'x' } },
    });
    const { input: ___, ...large } = failed;
    expect(plan({ failures: [large] }, { ...trouble, code }).action).toEqual({
      toolName: 'search',
    });
  });

  test.each(['auth_failed', 'tool_denied', 'outcome_unknown'] as const)(
    'that only a person may fix goes to one: %s',
    (code) => {
      expect(plan({ failures: [{ ...failure, code }] }, { ...trouble, code })).toMatchObject({
        strategy: 'escalate',
        reasoning: `${code} is nothing that the agent can fix.`,
        action: {
          toolName: 'search',
          escalationMessage:
            'The agent is stuck on "search for test". The failing tool is search. What should it do or know to continue?',
        },
      });
    },
  );

  test('is corrected where exactly one known path fits, unless its tool may not be tried again', () => {
    const given = { failures: [{ ...failure, input: { query: 'a.ts' } }], paths: ['src/a.ts'] };
    expect(plan(given)).toEqual({
      strategy: 'parameter-adjustment',
      reasoning:
        'search failed with less than a full path in "query"; an earlier call names src/a.ts.',
      action: { toolName: 'search', parameters: { query: 'src/a.ts' } },
      expectedOutcome: 'search finds src/a.ts.',
      confidence: 0.85,
      origin: { parameter: 'query', instead: 'a.ts', toolCallId: 'of src/a.ts' },
    });
    expect(plan(given, trouble, ['search']).strategy).toBe('escalate');
    expect(plan(given, trouble, ['calculator']).confidence).toBe(0.85);
  });
});

describe('a trouble that came before', () => {
  const known = { troubles: [troubleKey(trouble)] };
  const alternatives = [aTool('search', { alternatives: ['find', 'grep', 'ask'] })];

  test('goes to a person where no other tool serves the purpose', () => {
    expect(plan({ failures: [failure], recovery: known })).toMatchObject({
      strategy: 'escalate',
      reasoning: 'An earlier recovery did not help, and the trouble came again.',
    });
    expect(plan({ failures: [failure] }, trouble, ['search']).strategy).toBe('escalate');
    expect(plan({ failures: [failure], recovery: { troubles: ['another'] } }).strategy).toBe(
      'parameter-adjustment',
    );
  });

  test('gets the first alternative that has neither failed nor been tried too often', () => {
    const given = {
      failures: [failure, { ...failure, tool: 'find' }],
      recovery: known,
      snapshot: { tools: alternatives },
    };
    expect(plan(given)).toEqual({
      strategy: 'alternative-tool',
      reasoning: 'search failed again: "no row". grep serves the same purpose: call it instead.',
      action: { toolName: 'grep' },
      expectedOutcome: 'grep gives what search did not.',
      confidence: 0.8,
    });
    expect(plan(given, trouble, ['grep']).action.toolName).toBe('ask');
    expect(plan(given, trouble, ['grep', 'ask']).strategy).toBe('escalate');
  });

  test('is told by tool, code and text of an error; a lack of news is always the same', () => {
    const others = [{ tool: 'find' }, { code: 'tool_timeout' as const }, { message: 'no column' }];
    const keys = [{}, ...others].map((change) => troubleKey({ ...trouble, ...change }));
    expect(new Set(keys).size).toBe(4);
    expect(troubleKey({ ...noNews, tool: 'find' })).toBe(troubleKey({ ...noNews, code: 'loop' }));
  });

  test.each([{ tool: 'find' }, { code: 'tool_timeout' as const }, { message: 'no column' }])(
    'is about no failure that differs: %j',
    (change) => {
      expect(plan({ failures: [failure] }, { ...trouble, ...change }).action.toolName).toBe('');
    },
  );

  test('without an error goes to a person once the last action proved useless', () => {
    const refuted = { recovery: { refutedStep: 0 } };
    expect(plan(refuted, noNews)).toMatchObject({
      strategy: 'escalate',
      action: { escalationMessage: expect.stringContaining('It keeps calling search.') as string },
    });
    expect(plan({ ...refuted, failures: [failure] }).strategy).toBe('parameter-adjustment');
    const nobody = plan(refuted, { ...noNews, tool: '' }).action.escalationMessage;
    expect(nobody).toContain('on "search for test". What should it do');
  });
});

describe('a lack of news', () => {
  const reasoning = (given: Given): string => plan(given, noNews).reasoning;
  const end =
    'Otherwise ask for something that is not yet known, use another tool, or answer with what is known.';
  const seen = (call: string, changes: Partial<CallEvidence> = {}): CallEvidence => ({
    ...{ call, result: 'r', summary: `search ${call}`, reply: 1, ...changes },
  });

  test('gets the trouble quoted, and how an answer is given', () => {
    expect(plan({}, noNews)).toEqual({
      strategy: 'parameter-adjustment',
      reasoning: `Nothing new. The same results came again. If the goal is reached, say so now in plain text, without a tool call. ${end}`,
      action: { toolName: '' },
      expectedOutcome: 'A result that was not seen before, or the answer.',
      confidence: 0.8,
    });
    expect(reasoning({ snapshot: { completion: 'tool' } })).toContain(
      'say so now with complete_task.',
    );
  });

  test('names the calls that worked again and again, the most frequent first, at most three', () => {
    const again = (call: string, count: number): readonly CallEvidence[] =>
      Array.from({ length: count }, () => seen(call));
    const evidence = [...again('a', 2), ...again('b', 3), ...again('c', 1), ...again('d', 4)];
    expect(reasoning({ evidence })).toBe(
      `You called "search d" 4 times and "search b" 3 times and "search a" 2 times; each worked, so do not call them again. If the goal is reached, say so now in plain text, without a tool call. ${end}`,
    );
    const more = [...evidence, ...again('e', 5)];
    expect(reasoning({ evidence: more })).toContain(
      'You called "search e" 5 times and "search d" 4 times and "search b" 3 times; each',
    );
  });

  test('counts calls of one gist together, and no call that failed', () => {
    const alike = [seen('a', { alike: { gist: 'g' } }), seen('b', { alike: { gist: 'g' } })];
    expect(reasoning({ evidence: alike })).toContain('"search b" 2 times');
    const apart = [seen('a', { alike: { gist: 'g' } }), seen('a', { alike: { gist: 'h' } })];
    expect(reasoning({ evidence: apart })).toContain('The same results came again.');
    const failed = [seen('a'), seen('a', { failed: 'tool_timeout' })];
    expect(reasoning({ evidence: failed })).toContain('The same results came again.');
  });

  test('names the newest five paths that fit into 150 characters', () => {
    const paths = ['0', '1', '2', '3', '4', '5'];
    expect(reasoning({ paths })).toMatch(/ Known so far: 1, 2, 3, 4, 5\.$/);
    const full = ['a'.repeat(100), 'b'.repeat(50), 'c'];
    expect(reasoning({ paths: full })).toMatch(/ Known so far: a{100}, b{50}\.$/);
    expect(reasoning({ paths: ['a'.repeat(151)] })).not.toContain('Known');
  });
});
