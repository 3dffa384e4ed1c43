/** Which calls of a reply run in the workflow's own worker first (ADR 0051). */
import type { ProposedToolCall } from '../../workflows/core/tools/ports';
import type { RunCommand } from '../../workflows/core/run/protocol';
import { aCall, anInfraError, aRunWithCalls, aTool, takeAll } from '../support/builders';

const tools = [aTool('look', { quick: true }), aTool('search'), aTool('act', { effect: 'keyed' })];
const look = (id: string, more: Partial<ProposedToolCall> = {}): ProposedToolCall =>
  aCall(id, { name: 'look', ...more });
const search = aCall('s', { name: 'search' });

/** Ids of the calls that were started, and of those that are local. */
function started(commands: readonly RunCommand[]): { all: string[]; local: string[] } {
  const calls = commands.filter((command) => command.type === 'run-tool');
  const local = calls.filter(({ isLocal }) => isLocal === true);
  return {
    all: calls.map(({ toolCallId }) => toolCallId),
    local: local.map(({ toolCallId }) => toolCallId),
  };
}

test.each<[string, readonly ProposedToolCall[], readonly string[], readonly string[]]>([
  ['quick ones, all together', [look('a'), look('b')], ['a', 'b'], ['a', 'b']],
  ['none beside one that is not quick', [look('a'), search], ['a', 's'], []],
  [
    'none beside one that waits for a person',
    [look('a'), look('b', { approvalDigest: 'd' })],
    ['a'],
    [],
  ],
  ['none of a tool that does not say so', [search], ['s'], []],
])('%s', (_what, calls, all, local) => {
  expect(started(aRunWithCalls(calls, { tools })[1])).toEqual({ all, local });
});

test('not a call that met a store that was down', () => {
  const failure = anInfraError('store_unavailable');
  const [run] = aRunWithCalls([look('a')], { tools });
  const [, again] = takeAll(
    run,
    { type: 'tool-call-failed', toolCallId: 'a', failure },
    { type: 'timer-fired', timerId: 'store-1' },
  );
  expect(started(again)).toEqual({ all: ['a'], local: [] });
});
