/** Handoffs in the core: another agent acts from the next iteration on, and nothing else of the run changes. */
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import { statusView } from '../../workflows/core/view/status';
import { aLimits, anInfraError, aRoute, aSnapshot, aTool, typesOf } from '../support/builders';
import type { ScriptedCall, ScriptedReply } from '../support/scripted-reply';
import type { DrivenWorld } from '../support/run-driver';
import { drive, RunDriver } from '../support/run-driver';

const transfer = (to: string, more: Partial<ScriptedCall> = {}): ScriptedCall => ({
  name: `transfer_to_${to}`,
  input: { reason: 'It is about an invoice.' },
  ...more,
});

const triage: Partial<AgentSnapshot> = {
  agent: 'triage',
  tools: [
    aTool('search'),
    aTool('transfer_to_billing', { handoff: 'billing' }),
    aTool('transfer_to_sales', { handoff: 'sales' }),
  ],
  limits: aLimits({ maxIterations: 12 }),
  budget: { nanoUsd: 1_000_000_000 },
  flags: ['of-the-start'],
};

const billing = aSnapshot({
  agent: 'billing',
  definition: 'definition-of-billing',
  flags: ['of-a-later-deploy'],
  chain: [aRoute({ provider: 'gamma', model: 'model-3' })],
  tools: [aTool('refund'), aTool('transfer_to_triage', { handoff: 'triage' })],
  limits: aLimits({ maxIterations: 99 }),
  budget: { nanoUsd: 5 },
});

const world: Omit<DrivenWorld, 'model'> = {
  prepare: () => aSnapshot(triage),
  handOver: (to) => ({ ...billing, agent: to }),
};

const handsOver: readonly ScriptedReply[] = [
  { calls: [{ name: 'search' }, transfer('billing')] },
  { text: 'Paid.' },
];

test('the next call is the other agent: its definition, tools and routes, on the same transcript', () => {
  const run = drive(handsOver, world);
  expect(run.outcome).toMatchObject({ status: 'completed', answer: 'Paid.' });
  expect(run.commands).toContainEqual(
    expect.objectContaining({
      type: 'hand-over',
      callId: 'h1',
      input: {
        agent: 'helper',
        goal: 'search for test',
        actingAgent: 'billing',
        storeId: 'store-1',
        limits: triage.limits,
        contextOf: 'definition-hash',
        underway: { head: expect.any(String) as string },
      },
    }),
  );
  const [first, second] = run.requests;
  expect(first?.input).toMatchObject({ definition: 'definition-hash' });
  expect(second?.input).toMatchObject({ definition: 'definition-of-billing', routeIndex: 0 });
  // The calls to tools that it does not have stay, each with its result.
  expect(second?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(second?.messages[2]).toMatchObject({
    results: [{ name: 'search' }, { name: 'transfer_to_billing' }],
  });
});

test('limits, budget and flags stay those of the run', () => {
  const run = drive(handsOver, world);
  const { limits, budget, flags } = triage;
  expect(run.state.snapshot).toMatchObject({ agent: 'billing', limits, budget, flags });
});

test('timeline, status and report say who acts; the run is that of the agent it was started with', () => {
  const run = drive(handsOver, world);
  expect(run.entries).toContainEqual(
    expect.objectContaining({
      type: 'HandoffEvent',
      from: 'triage',
      to: 'billing',
      reason: 'It is about an invoice.',
      iteration: 1,
    }),
  );
  const named = { agent: 'helper', actingAgent: 'billing' };
  expect(statusView(run.state)).toMatchObject(named);
  expect(run.outcome.report).toMatchObject(named);
  expect(drive([{ text: 'done' }]).outcome.report).not.toHaveProperty('actingAgent');
});

test('of two handoffs in one reply the first counts, and the model reads why the other does not', () => {
  const run = drive(
    [{ calls: [transfer('sales'), transfer('billing')] }, { text: 'Sold.' }],
    world,
  );
  expect(run.entries).toContainEqual(
    expect.objectContaining({ type: 'HandoffEvent', to: 'sales' }),
  );
  expect(run.toolRuns.map(({ name }) => name)).toEqual(['transfer_to_sales']);
  expect(run.requests[1]?.messages[2]).toMatchObject({
    results: [
      { isError: false },
      { isError: true, content: expect.stringContaining('one agent') as string },
    ],
  });
});

test.each([
  ['approve', ['HandoffEvent'], 'definition-of-billing'],
  ['reject', [], 'definition-hash'],
] as const)('a person decides about a handoff: %s', (decision, events, definition) => {
  const run = drive(
    [{ calls: [transfer('billing', { needsApproval: true })] }, { text: 'Done.' }],
    world,
  );
  const [waiting] = run.state.phase.type === 'running-tools' ? run.state.phase.calls : [];
  expect(waiting?.status.type).toBe('awaiting-approval');
  const approvalId = waiting?.call.toolCallId ?? '';
  run.say({ type: 'approval-resolved', approvalId, decision, reason: 'no' });
  run.run();
  expect(run.entries.map(({ type }) => type).filter((type) => type === 'HandoffEvent')).toEqual(
    events,
  );
  expect(run.requests[1]?.input.definition).toBe(definition);
});

test('a handoff whose tool failed changes nothing', () => {
  const run = drive(handsOver, { ...world, tool: () => anInfraError('worker_mismatch') });
  expect(run.outcome).toMatchObject({ status: 'failed', reason: 'infra' });
  expect(typesOf(run.commands)).not.toContain('hand-over');
});

test('a store that is down is waited for; then the handoff goes on', () => {
  let tries = 0;
  const run = drive(handsOver, {
    ...world,
    handOver: () => (++tries < 3 ? anInfraError('store_unavailable') : billing),
  });
  expect(tries).toBe(3);
  expect(run.outcome).toMatchObject({ status: 'completed', answer: 'Paid.' });
});

test('an agent that cannot be prepared ends the run with the cause', () => {
  const run = drive(handsOver, { ...world, handOver: () => anInfraError('config_invalid') });
  expect(run.outcome).toMatchObject({ status: 'failed', failure: { code: 'config_invalid' } });
});

test('a stop while the next agent is prepared ends the run, and the results of the reply are kept', () => {
  const run = new RunDriver({ ...world, model: () => handsOver[0] ?? {} });
  while (run.state.phase.type !== 'handing-over' && run.step());
  run.say({ type: 'stop-requested', reason: 'enough' });
  run.run();
  expect(run.outcome).toMatchObject({ status: 'stopped', reason: 'enough' });
  expect(run.state.next.pendingResults).toHaveLength(2);
});

test('agents that hand the run back and forth are warned as in any loop, and end the run', () => {
  const run = new RunDriver({
    ...world,
    handOver: (to) => ({ ...(to === 'billing' ? billing : aSnapshot(triage)), agent: to }),
    model: ({ input }) => ({
      calls: [transfer(input.definition === 'definition-of-billing' ? 'triage' : 'billing')],
    }),
  }).run();
  expect(run.outcome).toMatchObject({
    status: 'failed',
    reason: 'guard_loop',
    message: expect.stringContaining('transfer_to_triage') as string,
  });
  expect(run.entries.map(({ type }) => type)).toContain('GuardWarnedEvent');
});
