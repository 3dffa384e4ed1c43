/** Caps of one tool, edits of one file, and active time: counted over replies, roll-overs, parallel calls and subagents. */
import { addGuardCounts, guardCounts } from '../../workflows/core/guard/state';
import {
  problemOfEditedFile,
  stopBeforeTools,
} from '../../workflows/core/guard/call-and-edit-caps';
import type { JsonObject } from '../../workflows/core/json';
import type { ToolCallProgress } from '../../workflows/core/tools/state';
import { settle } from '../../workflows/core/tools/state';
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import { aCall, aLimits, aPreparedRun, aSnapshot, aTool, anAgentError } from '../support/builders';
import type { DrivenWorld } from '../support/run-driver';
import type { ScriptedReply } from '../support/scripted-reply';
import { RunDriver } from '../support/run-driver';

function guarded(changes: Partial<AgentSnapshot> = {}): AgentSnapshot {
  const tools = [aTool('search', { maxCalls: 3 }), aTool('edit', { editsFile: 'path' })];
  return aSnapshot({ tools, ...changes });
}

function run(
  model: (call: number) => ScriptedReply,
  world: Partial<DrivenWorld> = {},
  snapshot: AgentSnapshot = guarded(),
): RunDriver {
  return new RunDriver({
    prepare: () => snapshot,
    model: (_request, call) => model(call),
    tool: (_input, call) => ({ output: `result ${call}` }),
    ...world,
  }).run();
}

const search = (query: number): { name: string; input: JsonObject } => ({
  name: 'search',
  input: { query },
});
const edit = (
  path: string,
  text: number,
): { name: string; input: JsonObject; editedFile: string } => ({
  name: 'edit',
  input: { path, text },
  editedFile: path,
});

test('the call after the cap of a tool ends the run, and the model was warned at the cap', () => {
  const driven = run((call) => ({ calls: [search(call)] }));
  expect(driven.outcome).toMatchObject({ status: 'failed', reason: 'guard_tool_cap' });
  expect(driven.outcome).toMatchObject({
    message:
      'Forced stop: reached maximum of 3 search invocations.\n' +
      'Events processed: 9 | Tool calls: 3 | Elapsed: 0m 5s.\n' +
      'Please review the work completed so far.',
  });
  expect(driven.toolRuns).toHaveLength(3);
  expect(driven.requests.map(({ input }) => input.note?.includes('often as this run may'))).toEqual(
    [undefined, undefined, undefined, true],
  );
});

test('parallel calls that pass a cap together do not start at all', () => {
  const driven = run((call) => ({
    calls: call === 1 ? [search(1), search(2)] : [search(3), search(4)],
  }));
  expect(driven.outcome).toMatchObject({ reason: 'guard_tool_cap' });
  expect(driven.toolRuns).toHaveLength(2);
});

test('caps are counted over roll-overs', () => {
  const driven = run((call) => ({ calls: [search(call)] }), { wantsRollOver: () => true });
  expect(driven.rollOvers).toBeGreaterThan(2);
  expect(driven.outcome).toMatchObject({ reason: 'guard_tool_cap' });
  expect(driven.toolRuns).toHaveLength(3);
});

test('the fifth edit of one file ends the run, whatever other files were edited between', () => {
  const driven = run((call) => ({ calls: [edit('a.ts', call), edit(`other${call}.ts`, call)] }));
  expect(driven.outcome).toMatchObject({ reason: 'guard_file_edits' });
  expect(driven.outcome).toMatchObject({
    message: expect.stringContaining('reached maximum of 4 edits of the file a.ts') as string,
  });
  expect(driven.toolRuns).toHaveLength(8);
});

test('a call may edit another file as long as the calls beside it leave an edit of that file', () => {
  const call = (id: string, editedFile: string) => aCall(id, { editedFile });
  const failed = (code: 'tool_timeout' | 'tool_execution_failed') => anAgentError({ code });
  const problem = (beside: ToolCallProgress): string | undefined => {
    const run = aPreparedRun({ limits: aLimits({ maxEditsPerFile: 1 }) });
    const own: ToolCallProgress = { call: call('c1', 'b.ts'), status: { type: 'running' } };
    const phase = { type: 'running-tools', calls: [own, beside] } as const;
    return problemOfEditedFile({ ...run, phase }, call('c1', 'a.ts'));
  };
  const [same, other] = [call('c2', 'a.ts'), call('c2', 'c.ts')];
  const full = expect.stringContaining('reached maximum of 1 edits of the file a.ts') as string;
  expect(problem({ call: same, status: { type: 'running' } })).toEqual(full);
  expect(problem(settle(same, 'done', undefined, true))).toEqual(full);
  expect(problem(settle(same, 'late', failed('tool_timeout'), true))).toEqual(full);
  expect(problem(settle(same, 'bad', failed('tool_execution_failed'), true))).toBeUndefined();
  expect(problem(settle(same, 'refused', undefined, false))).toBeUndefined();
  expect(problem({ call: other, status: { type: 'running' } })).toBeUndefined();
});

test('an edit that failed changed nothing and does not count, one that may have been done does', () => {
  const failing = run((call) => (call > 8 ? { text: 'done' } : { calls: [edit('a.ts', call)] }), {
    tool: (_input, call) => ({
      error: anAgentError({ message: `other error ${'x'.repeat(call)}` }),
    }),
  });
  expect(failing.outcome).toMatchObject({ status: 'completed' });
  const unknown = run(
    (call) => ({ calls: [edit('a.ts', call), search(1)] }),
    {
      tool: ({ name }, call) =>
        name === 'search'
          ? { output: `result ${call}` }
          : { error: anAgentError({ code: 'tool_timeout', message: `late ${'x'.repeat(call)}` }) },
    },
    guarded({ tools: [aTool('search'), aTool('edit', { editsFile: 'path' })] }),
  );
  expect(unknown.outcome).toMatchObject({ reason: 'guard_file_edits' });
});

test('a call that fails alike again and again is ended by the breaker, a loop of failures by the guard', () => {
  const error = anAgentError();
  const same = run(() => ({ calls: [edit('a.ts', 1)] }), { tool: () => ({ error }) });
  expect(same.outcome).toMatchObject({ reason: 'circuit_breaker' });
  const two = run((call) => ({ calls: [edit(call % 2 === 0 ? 'a.ts' : 'b.ts', 1)] }), {
    tool: (input) => ({ error: { ...error, message: JSON.stringify(input.input?.['path']) } }),
  });
  expect(two.outcome).toMatchObject({ reason: 'guard_loop' });
});

test('the limit of active time ends the run while a tool that ignores its signal is at work', () => {
  const limits = aLimits({ maxActiveMs: 60_000 });
  const driven = new RunDriver({
    prepare: () => guarded({ limits }),
    model: () => ({ calls: [search(1)] }),
    // The timer comes back before the tool does.
    pick: (count) => count - 1,
  }).run();
  expect(driven.outcome).toMatchObject({ status: 'failed', reason: 'guard_active_time' });
  expect(driven.outcome).toMatchObject({
    message: expect.stringMatching(
      /^Forced stop: reached maximum of 1m 0s of active time\./,
    ) as string,
  });
  const timers = driven.commands.filter(({ type }) => type === 'start-timer');
  expect(timers).toHaveLength(1);
});

test('the timer of active time runs once for a stretch of its length, also over waits, and starts again only for work', () => {
  const driven = run((call) =>
    call > 5
      ? { text: 'done' }
      : { calls: [{ ...edit(`${call}.ts`, call), needsApproval: call === 3 }] },
  );
  expect(driven.outstanding).toEqual([]);
  const timers = (type: 'start-timer' | 'cancel-timer') =>
    driven.commands.filter(
      (command) => command.type === type && command.timerId.startsWith('active-'),
    );
  expect(timers('start-timer')).toHaveLength(1);
  expect(timers('cancel-timer')).toHaveLength(0);
  const { toolCallId: approvalId } = driven.toolRuns[1] ?? { toolCallId: '' };
  driven.say(
    {
      type: 'approval-resolved',
      approvalId: approvalId.replace(/_2_0$/, '_3_0'),
      decision: 'approve',
    },
    3_600_000,
  );
  driven.run();
  expect(driven.outcome).toMatchObject({ status: 'completed' });
  expect(timers('start-timer')).toHaveLength(2);
  expect(timers('cancel-timer')).toHaveLength(1);
});

test('what runs below have used counts, so that no cap is passed by delegation', () => {
  const above = aPreparedRun(guarded());
  const after = addGuardCounts(above, { toolRuns: { search: 3 }, fileEdits: { f1: 2 } });
  expect(guardCounts(after)).toEqual({ toolRuns: { search: 3 }, fileEdits: { f1: 2 } });
  expect(stopBeforeTools(after, [aCall('c', { name: 'search' })])?.reason).toBe('guard_tool_cap');
  expect(stopBeforeTools(above, [aCall('c', { name: 'search' })])).toBeUndefined();
});
