/** A person takes the run over while its last reply is under way: it waits for them instead of ending. */
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import { completeTaskTool } from '../../workflows/core/tools/ports';
import type { RunState } from '../../workflows/core/run/state';
import { pendingItems } from '../../workflows/core/view/pending';
import { aCall, aPreparedRun, aReply, aToolReply, takeAll } from '../support/builders';

function escalated(snapshot: Partial<AgentSnapshot> = {}): RunState {
  const running = aPreparedRun(snapshot);
  return takeAll(running, { type: 'escalation-requested', reason: 'let me look first' })[0];
}

const answered = { type: 'model-call-completed', callId: 'm1', result: aReply() } as const;
const question = { type: 'question', questionId: 'escalation', question: 'let me look first' };

test('an answer waits for the person who wants the run, who goes on with it or stops it', () => {
  const [waiting] = takeAll(escalated(), answered);
  expect(waiting.phase).toMatchObject({ type: 'waiting', on: 'person' });
  expect(pendingItems(waiting)).toEqual([question]);
  const answer = { type: 'question-answered', questionId: 'escalation', answer: 'go on' } as const;
  expect(takeAll(waiting, answer)[0].phase.type).toBe('calling-model');
  const [stopped] = takeAll(waiting, { type: 'stop-requested', reason: 'good' });
  expect(stopped.phase).toMatchObject({
    outcome: { status: 'stopped', report: { lastText: 'done', head: 'head-after' } },
  });
});

test('so does a finished task, and the model reads why it did not end', () => {
  const call = aCall('c', { name: completeTaskTool, input: { summary: 'done' } });
  const [waiting] = takeAll(escalated({ completion: 'tool' }), {
    ...answered,
    result: aToolReply([call]),
  });
  expect(pendingItems(waiting)).toEqual([question]);
  expect(waiting.next.pendingResults[0]?.text).toContain('a person takes it over first');
});
