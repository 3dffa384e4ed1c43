/** The fold of history is exact: the state that it comes to is the state that the workflow carried. */
import type { Client } from '@temporalio/client';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { HistoryReader } from '../../client/history/facts';
import type { FoldedSegment } from '../../client/history/fold';
import { SegmentFold } from '../../client/history/fold';
import { outcomeOf } from '../../client/run-result';
import type { AgentRunInput } from '../../workflows/contract';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import { statusView } from '../../workflows/core/view/status';
import type { DevServer } from '../support/temporal';
import { startOwnServer, uniqueName } from '../support/temporal';
import type { Script, Stage } from './scripted-run';
import { createStage, gate, infra, until } from './scripted-run';

let server: DevServer;
let stage: Stage;

beforeAll(async () => {
  // Small, so that every run here rolls over: each roll-over hands the whole state on, to be compared with.
  server = await startOwnServer({ rollsOverAfter: 24 });
});
beforeEach(() => {
  stage = createStage(server);
});
afterAll(() => server.close());

interface Segment {
  readonly input: AgentRunInput;
  readonly folded: FoldedSegment;
  readonly entries: readonly TimelineEntry[];
}

async function foldedSegments(temporal: Client, workflowId: string): Promise<readonly Segment[]> {
  const segments: Segment[] = [];
  let runId: string | undefined = (await temporal.workflow.getHandle(workflowId).describe()).runId;
  while (runId !== undefined) {
    const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    const reader = new HistoryReader(temporal.workflow.options, workflowId);
    const fold = new SegmentFold(workflowId);
    const entries: TimelineEntry[] = [];
    let began: { input: unknown; previousRunId: string | undefined } | undefined;
    for (const event of events ?? []) {
      const fact = await reader.read(event);
      if (fact?.type === 'segment-began') began = fact;
      if (fact !== undefined) entries.push(...fold.take(fact));
    }
    entries.push(...fold.settle());
    segments.unshift({ input: began?.input as AgentRunInput, folded: fold.folded(), entries });
    runId = began?.previousRunId;
  }
  return segments;
}

async function workflowsOutcome(temporal: Client, workflowId: string): Promise<RunOutcome> {
  try {
    return (await temporal.workflow.getHandle(workflowId).result()) as RunOutcome;
  } catch (thrown) {
    const cause = thrown instanceof WorkflowFailedError ? thrown.cause : undefined;
    if (!(cause instanceof ApplicationFailure)) throw thrown;
    return cause.details?.[0] as RunOutcome;
  }
}

/** Compares with everything that the workflow ever showed of its state; returns the segments. */
async function expectExactFold(workflowId: string): Promise<readonly Segment[]> {
  const outcome = await workflowsOutcome(stage.temporal, workflowId);
  const segments = await foldedSegments(stage.temporal, workflowId);
  segments.slice(1).forEach(({ input }, index) => {
    expect(segments[index]?.folded.state).toEqual(input.state);
  });
  const last = segments.at(-1)?.folded;
  expect(last && outcomeOf(last)).toEqual(outcome);
  if (last?.state !== undefined) {
    const asked = await stage.temporal.workflow.getHandle(workflowId).query('status');
    expect(asked).toEqual(statusView(last.state));
  }
  return segments;
}

const openLimits = { maxIterations: 200, maxActiveMs: 3_600_000 };

async function startRun(goal = 'find it'): Promise<string> {
  const { runId } = await stage.client.start({
    agent: 'scout',
    goal,
    runId: uniqueName('run'),
    limits: openLimits,
  });
  return runId;
}

async function eventCount(workflowId: string, attributes: string): Promise<number> {
  const { events } = await stage.temporal.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).filter(
    (event) => attributes in event && event[attributes as 'eventId'] != null,
  ).length;
}

it('agrees over segments with tools in parallel, errors, failover and messages', async () => {
  const script: Script = {
    model({ iteration, routeIndex }) {
      if (iteration % 5 === 2 && routeIndex === 0) throw infra('overloaded');
      if (iteration >= 12) return 'done';
      return [{ name: 'read', label: `f${iteration}` }, { name: 'grep' }, { name: 'broken' }];
    },
    tool({ name, toolCallId }) {
      if (name !== 'broken') return {};
      const message = `no ${toolCallId}`;
      const error = {
        kind: 'agent',
        code: 'tool_execution_failed',
        message,
        recoverable: true,
      } as const;
      return { error };
    },
  };
  const [decider, actor] = await Promise.all([stage.decide(), stage.act(script)]);
  const runId = await startRun();
  await stage.client.run(runId).addMessage('hurry', { by: 'Ada' });
  await stage.client.run(runId).addMessage('slowly');
  const segments = await expectExactFold(runId);
  expect(segments.length).toBeGreaterThan(2);
  const told: TimelineEntry[] = [];
  for await (const entry of stage.client.run(runId).events()) told.push(entry);
  expect(told).toEqual(segments.flatMap(({ entries }) => entries));
  expect(told.filter((entry) => entry.type === 'FailoverEvent').length).toBeGreaterThan(0);
  expect(told.at(0)?.type).toBe('RunStartedEvent');
  expect(told.at(-1)?.type).toBe('RunEndedEvent');
  await Promise.all([decider.stop(), actor.stop()]);
});

it('agrees when signals, cancellation, a timer and activities land in one workflow task', async () => {
  const slow = gate();
  const script: Script = {
    model({ iteration }) {
      return iteration < 3 ? [{ name: 'stored' }, { name: 'slow' }, { name: 'quick' }] : 'done';
    },
    async tool({ name }) {
      if (name === 'stored') throw infra('store_unavailable');
      if (name === 'slow') await slow.opened;
      return {};
    },
  };
  const [decider, actor] = await Promise.all([stage.decide(), stage.act(script)]);
  const runId = await startRun();
  await until(
    async () => (await eventCount(runId, 'timerStartedEventAttributes')) === 2,
    'the limit of active time, and the wait for the store',
  );
  await decider.stop();
  const handle = stage.client.run(runId);
  slow.open();
  await until(
    async () => (await eventCount(runId, 'activityTaskCompletedEventAttributes')) >= 4,
    'both other tools',
  );
  await until(
    async () => (await eventCount(runId, 'timerFiredEventAttributes')) === 1,
    'the timer',
  );
  await handle.addMessage('one');
  await handle.cancel();
  await handle.addMessage('two');
  const second = await stage.decide();
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'cancelled', report: { toolCallsSucceeded: 2 } });
  const [segment] = await foldedSegments(stage.temporal, runId);
  const asked = await stage.temporal.workflow.getHandle(runId).query('status');
  expect(segment?.folded.state && statusView(segment.folded.state)).toEqual(asked);
  await Promise.all([second.stop(), actor.stop()]);
});

it('agrees when everything but a cancellation lands in one workflow task', async () => {
  const slow = gate();
  let stored = 0;
  const script: Script = {
    model({ iteration }) {
      return iteration < 9 ? [{ name: 'stored' }, { name: 'slow' }, { name: 'quick' }] : 'done';
    },
    async tool({ name }) {
      if (name === 'stored' && (stored += 1) === 1) throw infra('store_unavailable');
      if (name === 'slow') await slow.opened;
      return {};
    },
  };
  const [decider, actor] = await Promise.all([stage.decide(), stage.act(script)]);
  const runId = await startRun();
  await until(
    async () => (await eventCount(runId, 'timerStartedEventAttributes')) === 2,
    'the limit of active time, and the wait for the store',
  );
  await decider.stop();
  slow.open();
  await until(
    async () => (await eventCount(runId, 'timerFiredEventAttributes')) === 1,
    'the timer',
  );
  await stage.client.run(runId).addMessage('one');
  await stage.client.run(runId).escalate('look here');
  await stage.client.run(runId).addMessage('two');
  const second = await stage.decide();
  await until(async () => (await stage.client.run(runId).pending()).length > 0, 'the escalation');
  await stage.client.run(runId).answer('escalation', 'go on');
  const segments = await expectExactFold(runId);
  expect(segments.length).toBeGreaterThan(1);
  await Promise.all([second.stop(), actor.stop()]);
});

it('agrees on signals that were there before the workflow began', async () => {
  const runId = await startRun();
  const handle = stage.client.run(runId);
  await handle.addMessage('first');
  await handle.escalate('an eye on it');
  await handle.addMessage('second');
  const script: Script = {
    model: ({ iteration }) => (iteration < 6 ? [{ name: 'read' }] : 'done'),
  };
  const [decider, actor] = await Promise.all([stage.decide(), stage.act(script)]);
  await until(async () => (await handle.pending()).length > 0, 'the escalation');
  await handle.answer('escalation', 'looks well');
  const segments = await expectExactFold(runId);
  expect(
    segments
      .flatMap(({ entries }) => entries)
      .slice(0, 4)
      .map(({ type }) => type),
  ).toEqual(['RunStartedEvent', 'EscalatedEvent', 'MessageAddedEvent', 'MessageAddedEvent']);
  await Promise.all([decider.stop(), actor.stop()]);
});

it('agrees when a run is stopped before its first activity was sent', async () => {
  const runId = await startRun();
  await stage.client.run(runId).stop('never mind', { by: 'Ada' });
  const decider = await stage.decide();
  const result = await stage.client.run(runId).result();
  expect(result).toMatchObject({ status: 'stopped', reason: 'never mind' });
  await expectExactFold(runId);
  await decider.stop();
});

it('agrees on approvals, rejections, questions and failed activities', async () => {
  const script: Script = {
    model({ iteration }) {
      if (iteration === 1) return [{ name: 'deploy', needsApproval: true }, { name: 'read' }];
      if (iteration === 2) return [{ name: 'ask_user', input: { question: 'which?' } }];
      if (iteration === 3) return [{ name: 'deploy', needsApproval: true }];
      if (iteration < 8) return [{ name: 'read' }];
      return [{ name: 'fatal' }, { name: 'read' }];
    },
    tool({ name }) {
      if (name === 'fatal') throw infra('tool_infrastructure', 'the disk is gone');
      return {};
    },
  };
  const [decider, actor] = await Promise.all([stage.decide(), stage.act(script)]);
  const runId = await startRun();
  const handle = stage.client.run(runId);
  const next = async (): Promise<string> => {
    await until(async () => (await handle.pending()).length > 0, 'something to decide');
    const [item] = await handle.pending();
    return item?.type === 'approval' ? item.approvalId : (item?.questionId ?? '');
  };
  const first = await next();
  await Promise.all([handle.approve(first, { by: 'Ada' }), handle.approve(first, { by: 'Ada' })]);
  await handle.answer(await next(), 'the blue one');
  await handle.reject(await next(), 'not on Friday');
  const segments = await expectExactFold(runId);
  expect(segments.at(-1)?.folded.state?.phase).toMatchObject({
    outcome: { status: 'failed', reason: 'infra', failure: { message: 'the disk is gone' } },
  });
  await Promise.all([decider.stop(), actor.stop()]);
});

it('agrees when people talk all the time and the workflow worker comes and goes', async () => {
  const script: Script = {
    model({ iteration, routeIndex }) {
      if (iteration % 7 === 3 && routeIndex === 0) throw infra('network');
      if (iteration % 6 === 4) return [{ name: 'deploy', needsApproval: true }, { name: 'read' }];
      return iteration < 8 ? [{ name: 'read' }, { name: 'grep' }] : 'done';
    },
  };
  const actor = await stage.act(script);
  let decider = await stage.decide();
  const runId = await startRun();
  const handle = stage.client.run(runId);
  const state = { talking: true };
  const ended = handle.result().finally(() => {
    state.talking = false;
  });
  const ignoreEnd = (): undefined => undefined;
  for (let word = 0; state.talking; word += 1) {
    await handle.addMessage(`word ${word}`).catch(ignoreEnd);
    if (word % 9 === 4) await handle.escalate(`reason ${word}`).catch(ignoreEnd);
    for (const item of await handle.pending().catch(() => [])) {
      if (item.type === 'approval') await handle.approve(item.approvalId).catch(ignoreEnd);
      else await handle.answer(item.questionId, `answer ${word}`).catch(ignoreEnd);
    }
    if (word % 12 === 7) {
      await decider.stop();
      decider = await stage.decide();
    }
  }
  await ended;
  const segments = await expectExactFold(runId);
  expect(segments.length).toBeGreaterThan(3);
  await Promise.all([decider.stop(), actor.stop()]);
});
