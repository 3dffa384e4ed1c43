/** One attempt of a model call ends by its own limit, as a failure that counts; a probe that comes to nothing gives its lease back. */
import { ActivityCancellationDetails, ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { createActivities } from '../../activities/index';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import type { Provider } from '../../activities/providers/provider';
import type { InfraError } from '../../workflows/core/failure';
import type { CallModelInput } from '../../workflows/core/model-call/ports';
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

const route = 'endless/m';

/** Starts a call on a route that rests, from when it may be probed; `send` decides how the probe goes. */
async function probing(
  send: Provider['send'],
  environment: MockActivityEnvironment,
): Promise<unknown> {
  const { store } = stored;
  const activities = createActivities({
    store,
    providers: [{ ...endless, send }],
    agents: [
      {
        name: 'worker',
        instructions: 'You work.',
        chain: [{ provider: 'endless', model: 'm', windowTokens: 1_000 }],
        tools: [],
      },
    ],
  });
  const atMs = Date.now();
  await store.reportFailure({
    route,
    reason: 'rate_limit',
    message: 'slow down',
    status: 'down',
    cooldownUntilMs: atMs + 60_000,
    probeFromMs: atMs - 1,
    atMs,
  });
  const { snapshot, head } = await activities.prepareRun({
    flags: [],
    agent: 'worker',
    goal: 'Work.',
  });
  const { storeId, definition } = snapshot;
  const input = { storeId, definition, head, routeIndex: 0, iteration: 1, idPrefix: 'run' };
  return environment.run(() => activities.callModel(input)).catch((thrown: unknown) => thrown);
}

const prober = async (): Promise<string | undefined> =>
  (await stored.store.readHealth([route]))[0]?.probe?.holder;

test.each([
  ['is free again after a cancelled probe', { cancelRequested: true }, undefined],
  [
    'stays with a probe whose worker shuts down, for the worker that goes on',
    { workerShutdown: true },
    'run/1',
  ],
])('the lease of a route %s', async (_what, how, holder) => {
  const environment = new MockActivityEnvironment();
  let during: string | undefined;
  await probing(async (request, options) => {
    during = await prober();
    const sent = endless.send(request, options);
    environment.cancel('CANCELLED', new ActivityCancellationDetails(how));
    return sent;
  }, environment);
  expect(during).toBe('run/1');
  expect(await prober()).toBe(holder);
});

test('the lease of a route is free again after a probe that failed for no reason of the route', async () => {
  const refused = new InfraException({ code: 'format', message: 'a bad request' });
  const thrown = await probing(() => Promise.reject(refused), new MockActivityEnvironment());
  expect(thrown).toMatchObject({ type: 'format' });
  expect(await prober()).toBeUndefined();
  expect(await stored.store.readHealth([route])).toMatchObject([{ status: 'down', errorCount: 1 }]);
});

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
  const { snapshot, head } = await activities.prepareRun({
    flags: [],
    agent: 'worker',
    goal: 'Work.',
  });
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
});

test.each([
  [
    ['overloaded', 'timeout'],
    ['overloaded', 'timeout'],
  ],
  [[], undefined],
])('a call that gives up says what it had retried: %j', async (failures, retried) => {
  const last = { code: failures.length === 0 ? 'auth' : 'network', message: 'gone' } as const;
  const thrown = await probing(
    () => Promise.reject(new InfraException(last)),
    new MockActivityEnvironment({ heartbeatDetails: { failures } }),
  );
  expect(thrown).toBeInstanceOf(ApplicationFailure);
  const [details] = (thrown as ApplicationFailure).details ?? [];
  expect(details).toMatchObject({ code: last.code });
  expect((details as InfraError).retried).toEqual(retried);
});

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
