/** One attempt of a model call ends by its own limit, as a failure that counts. */
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { AgentDefinition } from '../../activities/agent';
import { createActivities } from '../../activities/index';
import type { Provider } from '../../activities/providers/provider';
import type { CallModelInput } from '../../workflows/core/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

/** A vendor whose content never ends. */
const endless: Provider = {
  name: 'endless',
  vendor: 'endless',
  problem: () => undefined,
  send: (_request, { signal, onText }) =>
    new Promise((_resolve, reject) => {
      const talking = setInterval(() => {
        onText('and ');
      }, 5);
      signal.addEventListener('abort', () => {
        clearInterval(talking);
        reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
      });
    }),
  classifyError: (thrown) => ({ kind: 'infra', code: 'unknown', message: String(thrown) }),
};

test('content that never ends runs into the limit of one attempt, which counts as a timeout of the provider', async () => {
  const activities = createActivities({
    store: stored.store,
    providers: [endless],
    agents: [
      {
        name: 'worker',
        instructions: 'You work.',
        chain: [{ provider: 'endless', model: 'm', windowTokens: 1_000 }],
        tools: [],
        limits: { modelCallTimeoutMs: 200 },
      },
    ],
  });
  const { snapshot, head } = await activities.prepareRun({ agent: 'worker', goal: 'Work.' });
  const input: CallModelInput = {
    storeId: snapshot.storeId,
    definition: snapshot.definition,
    head,
    routeIndex: 0,
    iteration: 1,
    idPrefix: 'run',
  };
  const environment = new MockActivityEnvironment();
  const beats: unknown[] = [];
  environment.on('heartbeat', (details) => beats.push(details));
  const thrown: unknown = await environment
    .run(() => activities.callModel(input))
    .catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(ApplicationFailure);
  expect(thrown).toMatchObject({ type: 'timeout', nonRetryable: false });
  expect(beats.at(-1)).toMatchObject({ failures: ['timeout'] });
}, 5_000);

test('refuses a limit that no timer can keep', () => {
  const agent: AgentDefinition = {
    name: 'worker',
    instructions: 'You work.',
    chain: [{ provider: 'endless', model: 'm', windowTokens: 1_000 }],
    tools: [],
    limits: { firstByteMs: 30 * 86_400_000 },
  };
  const { store } = stored;
  expect(() => createActivities({ store, providers: [endless], agents: [agent] })).toThrow(
    /limits\.firstByteMs/,
  );
});
