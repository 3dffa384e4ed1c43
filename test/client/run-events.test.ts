/** Wrong use of `events`, refused before anything is read: by the compiler where it can see it, else by name, value and remedy. */
import { Client, Connection } from '@temporalio/client';
import { closedConnection } from '../../client/closed-connection';
import { AgentClient } from '../../client/agent-client';
import type { RunEntry } from '../../client/history/fold';
import type { EventOptions } from '../../client/history/run-events';
import type { RunHandle } from '../../client/run-handle';
import type { TextDelta } from '../../workflows/core/model-call/live-text';
import { refusal } from './scripted-run';

/** Nothing listens there, so that whatever is sent fails otherwise. */
const nowhere = new Client({
  connection: Connection.lazy({ address: '127.0.0.1:1', plugins: [closedConnection] }),
});
afterAll(() => nowhere.connection.close());

test.each<[string, unknown, RegExp]>([
  ['an id of another kind', { after: '17' }, /`after` is "17", which is no id .* "1\.17\.0"/],
  ['an empty Last-Event-ID', { after: '' }, /`after` is "", which is no id/],
  ['an index', { after: 3 }, /`after` must be the id of an entry/],
  ['an unknown option', { types: ['x'] }, /Unknown option "types"; events takes after, follow, /],
  ['a misspelled option', { Text: true }, /Unknown option "Text"/],
  ['a text that is no switch', { text: 'yes' }, /`text` must be true or false/],
  ['text of the past', { text: true, follow: false }, /`text` needs `follow`/],
  ['a follow that is no switch', { follow: 1 }, /`follow` must be true or false/],
  ['a controller for its signal', { signal: new AbortController() }, /must be an AbortSignal/],
  ['text without a store', { text: true }, /no store\. Give it one, connect\(.*openStore\(url\)/],
])('events refuses %s', async (_, options, message) => {
  const run = new AgentClient(nowhere).run('run-1');
  const { code, message: said } = await refusal(run.events(options as EventOptions).next());
  expect(code).toBe('invalid-input');
  expect(said).toMatch(message);
});

test.each<[string, unknown, RegExp]>([
  [
    'an address',
    'postgres://me:secret@db/holdfast',
    /`store` is "postgres:\/\/\*\*\*@db\/holdfast"/,
  ],
  ['a promise of one', Promise.resolve(), /`store` is object, .* `await openStore\(url\)`/],
])('a client refuses %s as its store', (_, store, message) => {
  expect(() => new AgentClient(nowhere, { store: store as never })).toThrow(message);
});

test('the types say what comes, and refuse what cannot', () => {
  const compileOnly = (code: (run: RunHandle) => unknown): void => {
    expect(typeof code).toBe('function');
  };
  compileOnly(async (run) => {
    for await (const entry of run.events()) entry satisfies RunEntry;
    for await (const entry of run.events({ text: true, after: '1.4.0' })) {
      entry satisfies RunEntry | TextDelta;
      if (entry.type === 'TextDelta') entry.id satisfies undefined;
      else entry.id satisfies string;
      if (entry.type === 'WaitStartedEvent' && entry.wait.kind === 'approval')
        await run.approve(entry.wait.id, { digest: entry.wait.digest });
    }
    // @ts-expect-error -- text is there only while it arrives
    run.events({ text: true, follow: false });
    // @ts-expect-error -- an id is a text
    run.events({ after: 3 });
    // @ts-expect-error -- no such option
    run.events({ types: ['WaitStartedEvent'] });
  });
});
