/** Secrets in what people say: the model reads them, and no list, page, notice or line of the timeline does. */
import { textOf } from '../../workflows/core/attachments';
import { secretShapes } from '../../bench/scorecard/sanitise/secret-shapes';
import { summaryOf, detailsOf } from '../../client/start/start-run';
import { askUserTool } from '../../workflows/core/tools/ports';
import type { RunState } from '../../workflows/core/run/state';
import type { RunCommand } from '../../workflows/core/run/protocol';
import { shownText } from '../../workflows/core/secrets/shown-text';
import { pendingItems } from '../../workflows/core/view/pending';
import { statusView } from '../../workflows/core/view/status';
import type { UnstampedEvent } from '../support/builders';
import { aCall, aNewRun, aSnapshot, aToolReply, takeAll, markdownOf } from '../support/builders';

const shapes = secretShapes().filter(({ secrets }) => secrets.length > 0);

/** What people and receivers read of a command; undefined where it goes to the model, or to nobody. */
function shownOf(command: RunCommand): unknown {
  if (command.type === 'publish') return command.entry;
  if (command.type === 'start-timer') return command.summary;
  if (command.type === 'notify') return [command.summary, command.input.notice];
  return command.type === 'end-run' ? command.outcome : undefined;
}

interface Watched {
  readonly state: RunState;
  /** All that was shown so far. */
  readonly shown: string;
}

function see([state, commands]: readonly [RunState, readonly RunCommand[]], before = ''): Watched {
  const views = [statusView(state), markdownOf(state), pendingItems(state)];
  const shown = JSON.stringify([...commands.map(shownOf), ...views]);
  return { state, shown: `${before}\n${shown}` };
}

function take({ state, shown }: Watched, ...events: readonly UnstampedEvent[]): Watched {
  return events.reduce<Watched>((seen, event) => see(takeAll(seen.state, event), seen.shown), {
    state,
    shown,
  });
}

/** A person says the text wherever people can say something. */
function sayEverywhere(text: string): Watched {
  const snapshot = aSnapshot({
    notifiers: { names: ['log'], on: ['escalation', 'question', 'approval'] },
  });
  const question = { toolCallId: 'q', name: askUserTool, fingerprint: 'f' };
  return take(
    see(aNewRun({ goal: text })),
    { type: 'run-prepared', result: { snapshot, head: 'head-0' } },
    { type: 'message-added', text },
    {
      type: 'model-call-completed',
      callId: 'm1',
      // A model that asks back quotes what it was told.
      result: aToolReply([
        { ...question, input: { question: `Is it ${text}?` } },
        aCall('a', { approvalDigest: 'd' }),
      ]),
    },
    { type: 'escalation-requested', reason: text },
    { type: 'question-answered', questionId: 'q', answer: text },
    { type: 'approval-resolved', approvalId: 'a', decision: 'reject', reason: text },
    { type: 'stop-requested', reason: text },
  );
}

test('no shape of a secret is shown, whatever people say it in', () => {
  const leaks = shapes.flatMap(({ name, text, secrets }) => {
    const { shown } = sayEverywhere(text);
    const client = summaryOf({ agent: 'a', goal: text }) + detailsOf({ agent: 'a', goal: text });
    return secrets.some((secret) => shown.includes(secret) || client.includes(secret))
      ? [name]
      : [];
  });
  expect(leaks).toEqual([]);
});

test('what the model reads stays as it was given', () => {
  const text = 'Deploy with the token ghp_1234567890abcdefghijABCDEFGHIJ123456 today.';
  const { state, shown } = sayEverywhere(text);
  expect(state.phase).toMatchObject({ type: 'ended', outcome: { status: 'stopped' } });
  expect(shown).toContain('Deploy with the token [redacted] today.');
  expect(state.request.goal).toBe(text);
  expect(state.inbox.map(textOf).join()).toContain(text);
  const results = state.next.pendingResults.map((result) => result.text);
  expect(results.filter((result) => result?.includes('ghp_1234567890') === true)).toHaveLength(2);
});

test('an ordinary goal costs the state nothing, and a long text is cut', () => {
  expect(aNewRun()[0]).not.toHaveProperty('shownGoal');
  expect(shownText('x'.repeat(5_000), 200)).toHaveLength(200);
});
