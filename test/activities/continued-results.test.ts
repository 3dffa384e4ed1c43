/** What a run that continues another reads of the results that the first one ended with. */
import type { RunRequest } from '../../workflows/core/run/ports';
import type { Message } from '../../workflows/core/message';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import { workerActivities } from '../support/worker-activities';

let stored: TemporaryStore;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

const question: Message = { role: 'user', blocks: [{ type: 'text', text: 'Pay the rent.' }] };
const calls: Message = {
  role: 'assistant',
  vendor: 'anthropic',
  model: 'claude-sonnet-5',
  blocks: [{ type: 'tool-call', toolCallId: 'a', name: 'pay', input: {} }],
};
const ofModel = { toolCallId: 'a', name: 'pay', text: 'not known', isError: true };
const ofRuntime = {
  pending: { toolCallId: 'own', name: 'look', text: 'the ledger', isError: false },
  introduction: 'The runtime itself called look. Its result:',
};

/** The messages that a run begins with which continues a run with this transcript. */
async function begun(
  earlier: readonly Message[],
  results: Pick<RunRequest, 'pendingResults' | 'runtimeResults'>,
): Promise<readonly Message[]> {
  const { store } = stored;
  const activities = workerActivities(store, []);
  const head = await store.appendNode(undefined, earlier);
  const given = { flags: [], agent: 'worker', goal: 'Go on.', storeId: store.id, head };
  const prepared = await activities.prepareRun({ ...given, ...results });
  return store.loadTranscript(prepared.head);
}

test.each([
  ['after an open call', [question, calls], [ofModel], ['assistant', 'tool', 'user', 'user']],
  ['after a whole reply', [question], [], ['user', 'user', 'user']],
  ['without the call of a stray result', [question], [ofModel], ['user', 'user', 'user']],
])(
  "the result of the runtime's own call follows %s",
  async (_where, earlier, pendingResults, roles) => {
    const messages = await begun(earlier, { pendingResults, runtimeResults: [ofRuntime] });
    expect(messages.map(({ role }) => role).slice(-roles.length)).toEqual(roles);
    const [own, goal] = messages.slice(-2).map((message) => JSON.stringify(message));
    expect(own).toContain('Its result:\\nthe ledger');
    expect(goal).toContain('Go on.');
  },
);
