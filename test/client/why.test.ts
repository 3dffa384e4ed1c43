/** What `holdfast why` says: a cause and a next step for every end, from facts alone. Whole incidents: `test/faults/why.workflow.test.ts`. */
import { execFileSync } from 'node:child_process';
import { explain } from '../../client/why/explain';
import type { OpenActivity, Surroundings, WhyFacts } from '../../client/why/explanation';
import { spanText, utcTime } from '../../client/why/next-steps';
import { StoryTeller } from '../../client/why/story';
import { whyText } from '../../workers/cli/display/why-text';
import { widthOf } from '../../workers/cli/display/terminal-text';
import { reportOf } from '../../workflows/core/run/ending';
import type { FailureReason, RunOutcome } from '../../workflows/core/run/outcome';
import type { UnstampedEntry } from '../../workflows/core/run/protocol';
import { shellWord } from '../../workflows/core/view/shell-word';
import { aPreparedRun, anAgentError, anInfraError, aNewRun, startMs } from '../support/builders';
import { fc } from '../support/properties';

const nowMs = startMs + 60_000;
const idle: Surroundings = {
  taskQueue: 'holdfast',
  knowsPollers: true,
  lastPollAtMs: nowMs - 1_000,
  activities: [],
};

function storyOf(...entries: readonly UnstampedEntry[]) {
  const teller = new StoryTeller();
  entries.forEach((entry, iteration) => {
    teller.add({ ...entry, atMs: startMs, iteration });
  });
  return teller.story();
}

function facts(changes: Partial<WhyFacts> = {}): WhyFacts {
  return {
    runId: 'run 1',
    nowMs,
    state: aPreparedRun(),
    story: storyOf(),
    isTerminated: false,
    surroundings: idle,
    ownTaskQueue: 'holdfast',
    ...changes,
  };
}

function failed(
  reason: FailureReason,
  more: Partial<WhyFacts> = {},
  failure = anInfraError('unknown'),
) {
  const given = facts(more);
  const report = reportOf(given.state, nowMs);
  const outcome: RunOutcome = { status: 'failed', reason, message: 'it broke', failure, report };
  return explain({ ...given, outcome });
}

const commandsOf = ({ next }: ReturnType<typeof explain>): readonly string[] =>
  next.flatMap(({ command }) => command ?? []);

describe('the end of a run', () => {
  const reasons: readonly FailureReason[] = [
    'circuit_breaker',
    'max_iterations',
    'guard_events',
    'guard_tool_calls',
    'guard_active_time',
    'guard_budget',
    'guard_tenant_cap',
    'guard_tool_cap',
    'guard_file_edits',
    'guard_loop',
    'gave_up',
    'infra',
    'chain_exhausted',
    'refusal',
    'guardrail',
    'content_filter',
    'context_overflow',
  ];

  it.each(reasons)('has a cause, a row and a command to go on: %s', (reason) => {
    const said = failed(reason);
    expect(said).toMatchObject({ status: 'failed', runId: 'run 1' });
    expect(said.paragraph).toMatch(/^Run run 1 of agent .+ failed after .+\. .+[.!…]$/);
    expect(said.failed).toHaveLength(1);
    expect(commandsOf(said).join('\n')).toMatch(/^holdfast (fork|run) /m);
    expect(commandsOf(said).every((each) => !each.includes(' run 1 '))).toBe(true);
  });

  it('names the code of what the run stands on, and starts workers where they lack something', () => {
    const said = failed('infra', {}, anInfraError('agent_unknown'));
    expect(said.cause).toBe('agent_unknown');
    expect(commandsOf(said)).toContain('holdfast worker --agents FILE');
  });

  it('starts a run again that never began, and sends a fork to the queue of its workers', () => {
    const [state] = aNewRun();
    const [command = ''] = commandsOf(failed('infra', { state }));
    expect(command).toMatch(/^holdfast run GOAL --agent /);
    const surroundings = { ...idle, taskQueue: 'night shift' };
    const [fork] = commandsOf(failed('chain_exhausted', { surroundings }));
    expect(fork).toBe(`HOLDFAST_TASK_QUEUE='night shift' holdfast fork 'run 1' --at 0`);
  });

  it('advises what the run itself advised', () => {
    const state = { ...aPreparedRun(), advice: ['Raise num_ctx of the server.'] };
    expect(failed('max_iterations', { state }).next.at(-1)).toEqual({
      text: 'Raise num_ctx of the server.',
    });
  });
});

describe('a run in progress', () => {
  const activity = (changes: Partial<OpenActivity>): OpenActivity => ({
    id: 'm1',
    type: 'callModel',
    attempt: 1,
    isStarted: false,
    dueAtMs: nowMs - 1_000,
    ...changes,
  });
  const mismatch = { type: 'worker_mismatch', message: 'This worker lacks the tool "pay"' };

  it.each<[string, Partial<Surroundings>, string, RegExp]>([
    ['works', {}, 'at_work', /Nothing holds it up/],
    [
      'has no worker',
      { lastPollAtMs: nowMs - 120_000, activities: [activity({})] },
      'no_worker',
      /No worker polls task queue "holdfast"/,
    ],
    [
      'has busy workers',
      { activities: [activity({ dueAtMs: nowMs - 45_000 })] },
      'no_worker',
      /waited on task queue "holdfast" for 45 s: .*maxConcurrentActivities/,
    ],
    ['has a worker that will take it', { activities: [activity({})] }, 'at_work', /Nothing/],
    [
      'may not be seen with its queue',
      { activities: [activity({})], knowsPollers: false },
      'at_work',
      /Nothing/,
    ],
    [
      'has a worker that lacks a tool',
      { activities: [activity({ attempt: 3, dueAtMs: nowMs + 5_000, lastFailure: mismatch })] },
      'worker_mismatch',
      /attempt 3 follows at .* UTC: This worker lacks the tool "pay"\./,
    ],
    [
      'lost a worker',
      {
        activities: [
          activity({ attempt: 2, isStarted: true, lastFailure: { type: 'timeout', message: 'x' } }),
        ],
      },
      'worker_lost',
      /its worker was lost, and attempt 2 runs now/,
    ],
    [
      'has workflow code that throws',
      {
        openTask: { attempt: 4, isStarted: false, scheduledAtMs: nowMs, failure: 'a bug' },
      },
      'workflow_task_failed',
      /throws, which is a bug .*attempt 4.*a bug\./,
    ],
  ])('%s', (_what, changes, cause, says) => {
    const surroundings = { ...idle, ...changes };
    const said = explain(facts({ surroundings }));
    expect(said.cause).toBe(cause);
    expect(said.paragraph).toMatch(says);
    expect(said.next).not.toEqual([]);
  });
});

describe('the story of a run', () => {
  it('counts what is the same, newest last, and stays bounded', () => {
    const entries = Array.from({ length: 500 }, (_, index): UnstampedEntry => ({
      type: 'ErrorEvent',
      failure: anAgentError({ message: `wrong ${index % 250}`, toolName: 'pay' }),
    }));
    const story = storyOf(...entries);
    expect(story.failed).toHaveLength(100);
    expect(story.failed.at(-1)?.what).toContain('of pay: wrong 249');
    const said = explain(facts({ story }));
    expect(said.failed).toHaveLength(7);
    expect(said.failed[0]).toEqual({ what: 'earlier ones', times: 94 });
  });

  it('knows where the run was last well', () => {
    const success = { type: 'ToolCallSucceededEvent', toolCallId: 'a', summary: 's', preview: '' };
    const reply = { type: 'ModelRepliedEvent', text: '', toolCalls: [], tokens: 1 };
    const story = storyOf(
      success as UnstampedEntry,
      success as UnstampedEntry,
      reply as UnstampedEntry,
    );
    expect(story).toMatchObject({ lastSuccess: 1, lastReply: 2 });
  });
});

it.each([60, 120])(
  'fits a terminal of %d columns, but for commands, which stay whole',
  (columns) => {
    const story = storyOf({
      type: 'ErrorEvent',
      failure: anAgentError({ message: 'word '.repeat(60) }),
    });
    const output = { hasColors: false, isTerminal: true, columns: () => columns };
    const said = failed('circuit_breaker', { story });
    const lines = whyText({ ...said, paragraph: `${said.paragraph} \u001B[2J` }, output).split(
      '\n',
    );
    const commands = commandsOf(said);
    for (const line of lines)
      if (!commands.includes(line.trim())) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    for (const command of commands) expect(lines.map((line) => line.trim())).toContain(command);
    expect(lines.join('\n')).not.toContain('\u001B');
  },
);

it('quotes any text as one word of a shell', () => {
  const read = (word: string): string =>
    execFileSync('/bin/sh', ['-c', `printf %s ${word}`], { encoding: 'utf8' });
  for (const text of ['run-1/t1.0', 'a b', `it's`, '$(reboot)', '`x`', '', 'ü"', '-x;y', '!a\\n'])
    expect(read(shellWord(text))).toBe(text);
  fc.assert(
    fc.property(fc.string(), (text) => {
      const word = shellWord(text);
      expect(/^[\w@%+=:,./-]+$/.test(word) || word.startsWith(`'`)).toBe(true);
    }),
  );
});

it('tells times and spans', () => {
  expect([0, 9_940, 40_000, 720_000, 12_000_000, 7_200_000].map(spanText)).toEqual([
    '0.0 s',
    '9.9 s',
    '40 s',
    '12 min',
    '3 h 20 min',
    '2 h',
  ]);
  expect(utcTime(startMs, startMs)).toBe('22:13:20 UTC');
  expect(utcTime(startMs + 86_400_000, startMs)).toBe('2023-11-15 22:13:20 UTC');
});
