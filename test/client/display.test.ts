/** What people see: lines, frames and tables, safe and within the terminal's width. */
import { printable } from '../../workers/cli/display/printable';
import {
  cutTo,
  widthOf,
  wrapTo,
  duration,
  painter,
  table,
} from '../../workers/cli/display/terminal-text';
import { runText } from '../../workers/cli/display/run-text';
import { endText } from '../../workers/cli/display/outcome-text';
import { progressFrame } from '../../workers/cli/display/live-display';
import { runTable } from '../../workers/cli/commands/look';
import { listQuery } from '../../client/list-runs';
import { detailsOf, summaryOf } from '../../client/start/start-run';
import { createTimedLines, timelineLine } from '../../workers/cli/display/timeline-lines';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import type { RunStatusView } from '../../workflows/core/view/status';
import { fc } from '../support/properties';

const status: RunStatusView = {
  status: 'running',
  agent: 'scout',
  goal: 'find it',
  iteration: 3,
  maxIterations: 10,
  route: 'anthropic/claude-sonnet-4-5',
  isFallback: true,
  doing:
    'running read_file a-file-with-a-very-long-name-that-goes-on-and-on/日本語/と/続く/パス.ts',
  toolCallsSucceeded: 4,
  toolCallsFailed: 1,
  failovers: 1,
  cost: {},
  healed: { overloaded: 2, tool_execution_failed: 3 },
  usage: { inputTokens: 12_345, outputTokens: 678, cacheReadTokens: 0, cacheWriteTokens: 0 },
  segments: 1,
  ring: [],
};

it.each([20, 40, 80, 200])('keeps the frame within %d columns', (columns) => {
  const lines = progressFrame({ status, elapsedMs: 65_000, tick: 7, columns }, painter(false));
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(widthOf(line)).toBeLessThan(Math.max(columns, 21));
});

it.each([20, 60, 120])(
  'shows the last lines of a reply in progress within %d columns',
  (columns) => {
    const said = `${'A long line of the answer, 日本語 included. '.repeat(20)}\n\n- \u001B[2Jthe last point`;
    const lines = progressFrame({ status, said, elapsedMs: 0, tick: 0, columns }, painter(false));
    expect(lines).toHaveLength(6);
    for (const line of lines) expect(widthOf(line)).toBeLessThan(Math.max(columns, 21));
    expect(lines.slice(0, 4).join('').replaceAll(' ', '')).toContain('thelastpoint');
    expect(lines.join('')).not.toContain('\u001B');
  },
);

it('shows iteration, time, tokens, tools, what was healed and the route', () => {
  const input = { status, elapsedMs: 65_000, tick: 0, columns: 200 };
  const text = progressFrame(input, painter(false)).join('\n');
  for (const part of ['iteration 3/10', '1:05', '12.3k in 678 out', 'tools 4 ok 1 failed'])
    expect(text).toContain(part);
  expect(text).toContain('healed overloaded x2, tool_execution_failed x3');
  expect(text).toContain('anthropic/claude-sonnet-4-5 (fallback)');
});

it('lets nothing through that a terminal would obey', () => {
  expect(printable('\u001B[2Jgone\r\n\u202Eevil\u0007 \u009B31m')).toBe(
    '\\u{1b}[2Jgone \\u{202e}evil\\u{7} \\u{9b}31m',
  );
  const entry = {
    atMs: 0,
    iteration: 1,
    type: 'MessageAddedEvent',
    text: '\u001B]0;title\u0007hi',
  } as const;
  expect(timelineLine(entry)?.text).toBe('message: \\u{1b}]0;title\\u{7}hi');
});

it('cuts by columns, not by characters, and never inside a character', () => {
  expect(cutTo('日本語テキスト', 7)).toBe('日本語…');
  expect(cutTo('👩‍👩‍👧‍👦 family', 4)).toBe('👩‍👩‍👧‍👦 …');
  expect(cutTo('short', 5)).toBe('short');
});

it('tells durations', () => {
  expect([0, 42_000, 725_000, 10_807_000].map(duration)).toEqual([
    '0:00',
    '0:42',
    '12:05',
    '3:00:07',
  ]);
});

it('colors only where colors are wanted', () => {
  expect(painter(false)('red', 'x')).toBe('x');
  expect(painter(true)('red', 'x')).toBe('\u001B[31mx\u001B[0m');
});

it('never cuts the id of a run', () => {
  const runId = `coder-${'x'.repeat(60)}`;
  const run = {
    runId,
    status: 'failed',
    agent: 'coder',
    reason: 'r'.repeat(300),
    startedAtMs: 0,
    closedAtMs: 5_000,
  } as const;
  const lines = runTable([run], 60);
  expect(lines).toContain(runId);
  for (const line of lines) if (line !== runId) expect(widthOf(line)).toBeLessThanOrEqual(60);
});

describe('a table', () => {
  const cells = (text: string): readonly string[] => text.split('|');
  const tables = {
    list: [
      'RUN|STATUS|AGENT|ITER|TIME|DETAIL',
      'coder-01982f6e-7d1e-7c3b-9a53-2f1f6f7f4a11|waiting|support-agent|7|0:05|approval of refund_order A-17 by mail',
      'r-2|completed|a|12|1:00:05|',
    ],
    providers: [
      'PROVIDER|STATUS|ERRORS|COOLS|LAST ANSWER|LAST ERROR',
      'anthropic/claude-sonnet-4-5-20250929|down|12|9:59|0:42 ago|auth: the key was refused',
    ],
    patterns: [
      'PATTERN|STATUS|TRUST|OK/NOT|TENANT|TOOL|FIX -- ERROR',
      'p_0a1b2c3d4e5f6071|active|0.81|12/1|default|read_file|path: bare file name -- ENOENT',
    ],
  };

  test.each(
    Object.keys(tables).flatMap((name) => [30, 60, 80, 120, 200].map((to) => [name, to] as const)),
  )('of holdfast %s loses no column at %d columns', (name, columns) => {
    const rows = tables[name as keyof typeof tables].map(cells);
    const lines = table(rows, columns);
    const ids = rows.map(([id = '']) => id);
    for (const line of lines)
      if (!ids.some((id) => line.startsWith(id)))
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
    const text = lines.join('\n');
    for (const cell of rows.flat()) expect(text).toContain(cell.slice(0, 20));
    if (columns === 200) expect(lines).toHaveLength(rows.length);
  });

  test('aligns the same columns in every row', () => {
    const [head = '', headTail = '', first = '', firstTail = ''] = table(
      tables.providers.map(cells),
      60,
    );
    expect(first.indexOf('down')).toBe(head.indexOf('STATUS'));
    expect(firstTail.indexOf('auth')).toBe(headTail.indexOf('LAST ERROR'));
  });
});

it('quotes values in queries, so that none can become a condition', () => {
  const query = listQuery({ agent: `a' OR WorkflowType != 'b\\`, status: 'running' });
  expect(query).toContain(`HoldfastAgent = 'a\\' OR WorkflowType != \\'b\\\\'`);
});

it('keeps the static summary within 400 bytes and whole characters', () => {
  const summary = summaryOf({ agent: 'scout', goal: '日本'.repeat(500) });
  expect(Buffer.byteLength(summary)).toBeLessThanOrEqual(400);
  expect(summary).toMatch(/^scout: (日|本)+…$/);
  expect(summaryOf({ agent: 'scout', goal: 'two\nlines' })).toBe('scout: two lines');
});

it('keeps a goal from being read as markup in the static details', () => {
  const details = detailsOf({ agent: 'scout', goal: '# big\n[x](http://y)', workspace: '/w' });
  expect(details).toContain('> `# big`\n> `[x](http://y)`');
  expect(details).toContain('- **Workspace:** `/w`');
});

describe('wraps', () => {
  it('at blanks, with what goes on indented, and by columns', () => {
    expect(wrapTo('asks: which of the two?', 12, 2)).toEqual(['asks: which', '  of the', '  two?']);
    expect(wrapTo('日本語テキスト', 7)).toEqual(['日本語', 'テキス', 'ト']);
    expect(wrapTo(`  ${'x'.repeat(12)}`, 10, 2)).toEqual([`  ${'x'.repeat(8)}`, '  xxxx']);
    expect(wrapTo('as it is', Infinity, 4)).toEqual(['as it is']);
  });

  it('loses nothing but blanks, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 8, max: 60 }),
        (raw, columns) => {
          const text = printable(raw);
          const lines = wrapTo(text, columns, 4);
          expect(lines.join('').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
          for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });
});

describe('a run', () => {
  const shown = {
    runId: 'run-1',
    status: { ...status, status: 'waiting', doing: 'waiting for approval of pay' },
    pending: [
      {
        type: 'approval',
        ifApproved: 'It runs.',
        ifRejected: 'It does not.',
        approvalId: 'call_1',
        digest: 'd',
        tool: 'pay',
        shown: {
          fields: [
            {
              name: 'to',
              value: '"somebody with a name that is longer than the terminal is wide"',
            },
          ],
          isPart: true,
        },
      },
      { type: 'question', questionId: 'q', question: 'Which?\nWhat was tried: both' },
    ],
    entries: [],
    outcome: undefined,
  } as const;

  it('tells on a narrow terminal all of what waits, with the commands that end the wait', () => {
    const text = runText(shown, { hasColors: false, isTerminal: true, columns: () => 40 });
    for (const line of text.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(40);
    expect(text.replace(/\n {2}\| {3}/g, '')).toContain('longer than the terminal is wide"');
    expect(text).toContain('\n  whole: holdfast show run-1 --arguments\n');
    expect(text).toContain('\n  holdfast approve run-1 call_1\n');
    expect(text).toContain('\n  holdfast reject run-1 call_1 --reason\n');
    expect(text).toMatch(
      /\nasks:\n {2}\| Which\?\n {2}\| What was tried: both\n {2}holdfast answer run-1 TEXT$/,
    );
    expect(text).not.toMatch(/^doing/m);
  });

  it('tells an answer once', () => {
    const report = { iterations: 1, worked: [], didNotWork: [] };
    const outcome = { status: 'completed', answer: 'It is 42.', report } as unknown as RunOutcome;
    const ended = { ...status, status: 'completed', ending: 'It is 42.' } as const;
    const text = runText(
      { ...shown, status: ended, pending: [], outcome },
      { hasColors: false, isTerminal: false, columns: () => 120 },
    );
    expect(text.split('It is 42.')).toHaveLength(2);
  });

  it('tells its story once: an error by its tool, an iteration that a compaction held up', () => {
    const at = { atMs: 0, iteration: 1 } as const;
    const begun = {
      ...at,
      type: 'IterationStartedEvent',
      route: 'a/b',
      isFallback: false,
    } as const;
    const error = { kind: 'agent', code: 'tool_execution_failed', message: 'no' } as const;
    const entries = [
      begun,
      { ...at, type: 'ContextWarningEvent', tokens: 9, windowTokens: 10 },
      begun,
      { ...at, type: 'ToolResultErrorEvent', error: { ...error, toolName: 'pay' } },
      { ...at, type: 'ErrorEvent', failure: error },
    ] as unknown as readonly TimelineEntry[];
    const told = createTimedLines()(entries).map(({ text }) => text.trim());
    expect(told).toEqual([
      '0:00  iteration 1 on a/b',
      '0:00  the conversation nears its window: 9 of 10 tokens',
      '0:00  pay failed: tool_execution_failed: no',
    ]);
  });
});

it('shows the advice of a report once, however the run ended', () => {
  const advice = ["a/b wrote a tool call as text. Set toolProtocol: 'text' on its route."];
  const report = { worked: [], didNotWork: [], advice } as unknown as RunOutcome['report'];
  for (const outcome of [
    { status: 'completed', answer: 'done', report },
    { status: 'stopped', reason: 'enough', report },
  ] as const)
    expect(endText(outcome, painter(false)).join('\n')).toMatch(/^[^]*advice[^]*a\/b wrote[^\n]*$/);
  const quiet = { status: 'completed', answer: 'done', report: { ...report, advice: [] } } as const;
  expect(endText(quiet, painter(false))).toEqual(['completed\ndone']);
});

it('shows what failed on the way of a completed run, equal lines once', () => {
  const didNotWork = ['pay: no money', 'pay: no money', 'a/b: overloaded'];
  const report = { worked: ['look'], didNotWork } as unknown as RunOutcome['report'];
  const text = endText({ status: 'completed', answer: 'done', report }, painter(false)).join('\n');
  expect(text).toBe(
    'completed\ndone\nwhat failed on the way:\n  - pay: no money (x2)\n  - a/b: overloaded',
  );
});

it('shows which failures were retried before a provider failure', () => {
  const failure = { kind: 'infra', code: 'network', message: 'gone' } as const;
  const told = (retried: readonly ('overloaded' | 'timeout')[]): string | undefined =>
    timelineLine({ type: 'ErrorEvent', failure: { ...failure, retried }, atMs: 0, iteration: 1 })
      ?.text;
  expect(told(['overloaded', 'timeout'])).toBe(
    'error network (after retries of overloaded, timeout): gone',
  );
  expect(told([])).toBe('error network: gone');
});
