/**
 * What a newcomer gets wrong, over the whole package: each is refused before anything is sent or spent, and the message has the
 * thing, the value and the remedy. The rooms have tables of their own beside their tests; what the compiler refuses is in
 * test/client/typed-agents.test.ts.
 */
import { Client, Connection, WorkflowClient } from '@temporalio/client';
import { closedConnection } from '../../client/closed-connection';
import { z } from 'zod';
import * as holdfast from '../../index';
import { SetupError } from '../../workers/setup-error';
import * as worker from '../../workers/index';
import { supportAgent } from '../support/support-agent';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

/** As a program without types may call it. */
type Loose = Readonly<Record<string, (...values: readonly unknown[]) => unknown>>;
const {
  anthropicProvider,
  connect,
  createActivities,
  defineAgent,
  defineSubagent,
  defineTool,
  openaiProvider,
  openStore,
  presetProvider,
  slackNotifier,
  webhookNotifier,
  workspaceTools,
} = holdfast as unknown as Loose;
const { connectWorker, createWorker, installRuntime, openTemporal, readEnvironment } =
  worker as unknown as Loose;
const { HoldfastPlugin } = worker as unknown as Readonly<
  Record<string, new (_: unknown) => object>
>;

/** Nothing listens there: what is sent fails in another way. */
const connection = Connection.lazy({ address: '127.0.0.1:1', plugins: [closedConnection] });
const temporal = new Client({ connection });
const client = new holdfast.AgentClient(temporal) as unknown as Loose;
const run = new holdfast.AgentClient(temporal).run('run-1') as unknown as Loose;
const thread = new holdfast.AgentClient(temporal).thread('t') as unknown as Loose;
let stored: TemporaryStore;
beforeAll(async () => {
  stored = await temporaryStore();
});
afterAll(async () => {
  await stored.dispose();
  await connection.close();
});

const route = { provider: 'anthropic', model: 'claude-sonnet-5' };
const agent = (more: object = {}): unknown =>
  defineAgent?.({ name: 'a', instructions: 'x', chain: [route], tools: [], ...more });
const tool = (more: object = {}): unknown =>
  defineTool?.({
    name: 't',
    description: 'Does it.',
    input: z.object({ order: z.string() }),
    execute: () => 'done',
    ...more,
  });
const start = (more: object = {}): unknown => client['start']?.({ agent: 'a', goal: 'x', ...more });
const activities = (more: object = {}): unknown => {
  const providers = [holdfast.anthropicProvider({ apiKey: 'k' })];
  return createActivities?.({ store: stored.store, providers, agents: [agent()], ...more });
};
const agents = (more: object): unknown => activities({ agents: [agent(more)] });
const provider = (given: unknown): unknown => activities({ providers: [given] });
const environment = (name: string, value: string): unknown => readEnvironment?.({ [name]: value });
const webhook = { url: 'https://host/path', secret: 'a secret of enough length' };

type Case = readonly [what: string, call: () => unknown, ...says: string[]];

const starts: readonly Case[] = [
  ['a start of nothing', () => client['start']?.(), 'The agent is undefined', 'or its name'],
  [
    'a start without an agent',
    () => client['start']?.({ goal: 'x' }),
    'The agent is { goal',
    'give what defineAgent returned',
  ],
  [
    'a start without options',
    () => client['start']?.('a'),
    'The options of the start are undefined',
    'give an object such as { goal',
    'Nothing was started',
  ],
  ['a prompt for the goal', () => start({ prompt: 'x' }), '"prompt"', 'a start takes agent, goal'],
  ["Temporal's workflowId", () => start({ workflowId: 'x' }), '"workflowId"', 'runId'],
  ['a model per run', () => start({ model: 'gpt-5' }), '"model"', 'a start takes'],
  [
    'a misspelled limit',
    () => start({ limits: { maxTurns: 5 } }),
    'limits',
    '"maxTurns"',
    'maxIterations',
  ],
  [
    'no iterations',
    () => start({ limits: { maxIterations: 0 } }),
    'limits.maxIterations',
    '0 is not a whole number from 1 to',
  ],
  [
    'a limit as text',
    () => start({ limits: { maxIterations: '5' } }),
    'limits.maxIterations',
    "'5' is not a whole number",
  ],
  [
    'an unknown cooldown',
    () => start({ limits: { cooldownMs: { slow: 1 } } }),
    '"slow"',
    'rate_limit',
  ],
  ['a budget as a number', () => start({ budget: 5 }), 'budget', 'usd, tokens'],
  ['a budget below nothing', () => start({ budget: { usd: -1 } }), 'budget.usd', 'more than 0'],
  [
    'a budget in dollars',
    () => start({ budget: { dollars: 1 } }),
    '"dollars"',
    'budget takes usd, tokens',
  ],
  [
    'a context with a date',
    () => start({ context: { at: new Date() } }),
    'The context',
    'JSON object',
  ],
  [
    'a large context',
    () => start({ context: { a: 'x'.repeat(20_000) } }),
    'The context',
    '16384 bytes',
    'give ids',
  ],
  [
    'no context',
    () => client['start']?.(supportAgent, { goal: 'x' }),
    '"support"',
    'expected object, received undefined',
  ],
  [
    'a context of another type',
    () => client['start']?.(supportAgent, { goal: 'x', context: { customerId: 5 } }),
    'context.customerId',
    'expected string, received number',
  ],
  [
    'an output that is no schema',
    () => start({ output: { type: 'object' } }),
    'The output',
    'z.object(',
  ],
  ['a run id with spaces', () => start({ runId: 'a b' }), 'The run id', 'spaces'],
  [
    'what to do with a taken id',
    () => start({ ifExists: 'ignore' }),
    'ifExists',
    "'fail' or 'use'",
  ],
  [
    'effects to repeat of nothing',
    () => start({ repeatEffects: ['t'] }),
    'repeatEffects',
    'only for a fork',
  ],
  ['a tenant with spaces', () => start({ tenant: 'a b' }), 'The tenant', 'letters, digits'],
  ['a thread with a colon', () => client['thread']?.('a:b'), '"a:b"', '1 to 200 letters'],
  [
    'an id for a run of a thread',
    () => thread['start']?.('a', { goal: 'x', runId: 'r' }),
    'Thread "t"',
    'runId',
    'use client.start',
  ],
  [
    'a misspelled option in a thread',
    () => thread['start']?.('a', { gaol: 'x' }),
    '"gaol"',
    'a start takes',
  ],
  [
    'a fork before the first iteration',
    () => client['fork']?.('r', -1),
    'The iteration',
    'not be negative',
  ],
  [
    'a misspelled option of a fork',
    () => client['fork']?.('r', 1, { gaol: 'x' }),
    '"gaol"',
    'a fork takes agent, goal',
  ],
  [
    'a schedule of nothing',
    () => client['schedule']?.('a', { goal: 'x' }, {}),
    'The schedule id',
    'must be a string',
  ],
  [
    'a list of another status',
    () => client['list']?.({ status: 'done' }),
    '`status`',
    'running, waiting, completed',
  ],
  [
    'a misspelled filter',
    () => client['list']?.({ agents: 'a' }),
    '"agents"',
    'list takes status, agent',
  ],
  ['a list of nothing', () => client['list']?.({ limit: 0 }), '`limit`', 'at least 1'],
];

const people: readonly Case[] = [
  ['a run without an id', () => client['run']?.(), 'The run id', 'must be a string'],
  ['an approval of nothing', () => run['approve']?.(), 'The id', 'must be a string'],
  [
    'a misspelled digest',
    () => run['approve']?.('i', { diggest: 'd' }),
    '"diggest"',
    'by, digest, input',
  ],
  [
    'a decider who is no text',
    () => run['approve']?.('i', { digest: 'd', by: 7 }),
    'who acts',
    'must be a string',
  ],
  [
    'other arguments as text',
    () => run['approve']?.('i', { digest: 'd', input: '{}' }),
    'The changed arguments',
    'JSON object',
  ],
  ['a rejection without a reason', () => run['reject']?.('i'), 'The reason', 'must be a string'],
  ['an empty answer', () => run['answer']?.('q', ' '), 'The text is empty'],
  ['a message of nothing', () => run['addMessage']?.(), 'The text', 'a string, or a list of parts'],
  ['a message by an object', () => run['addMessage']?.('x', { user: 'me' }), '"user"', 'takes by'],
  ['a stop without a reason', () => run['stop']?.(), 'The reason', 'must be a string'],
  ['a wait in seconds', () => run['result']?.({ timeout: 5 }), '"timeout"', 'timeoutMs, signal'],
  [
    'a wait of less than nothing',
    () => run['result']?.({ timeoutMs: -1 }),
    'timeoutMs',
    'not be negative',
  ],
  [
    'a JSON schema for the result',
    () => run['result']?.({ type: 'object' }),
    '"type"',
    'schema of zod',
  ],
  ['a result of null', () => run['result']?.(null), 'timeoutMs, signal'],
  [
    'a line for Last-Event-ID',
    () => (run['events']?.({ after: '7' }) as AsyncGenerator).next(),
    '`after` is "7"',
    '1.17.0',
  ],
];

const connections: readonly Case[] = [
  [
    'a misspelled address',
    () => connect?.({ adress: 'a:1' }),
    '"adress"',
    'a client takes address',
  ],
  [
    'an address without its name',
    () => connect?.('localhost:7233'),
    'takes an object of options: address',
  ],
  [
    'an address with a scheme',
    () => connect?.({ address: 'http://localhost:7233' }),
    '`address` is "http://localhost:7233"',
    'without a scheme',
  ],
  [
    'a time to connect of nothing',
    () => connect?.({ connectTimeoutMs: 0 }),
    '`connectTimeoutMs`',
    'more than 0',
  ],
  ['TLS as text', () => connect?.({ tls: 'yes' }), '`tls`', 'true, false'],
  [
    'an approval key that is none',
    () => new holdfast.AgentClient(temporal, { approvalKey: 'abc' }),
    'approval',
    'holdfast approval-key',
  ],
  [
    'a connection for its client',
    () => new holdfast.AgentClient(connection as never),
    'Client',
    'new Client({ connection })',
  ],
  [
    "a client's workflow client",
    () => new holdfast.AgentClient(new WorkflowClient({ connection }) as never),
    'connect({ address })',
  ],
  [
    'a worker without an address',
    () => connectWorker?.(),
    'The address of Temporal is missing',
    "'host:port'",
  ],
  [
    'a worker at a URL',
    () => connectWorker?.({ address: 'https://a' }),
    '"https://a"',
    'without a scheme',
  ],
  [
    'variables for an environment',
    () => openTemporal?.(process.env),
    'openTemporal',
    'readEnvironment()',
  ],
  ['no store', () => openStore?.(), 'undefined', 'sqlite:<path>'],
  ['another database', () => openStore?.('mysql://db'), '"mysql"', 'postgres://'],
  ['a store without a name', () => openStore?.(''), '""', 'sqlite:<path>'],
  [
    'an address of one word',
    () => environment('TEMPORAL_ADDRESS', 'here'),
    'TEMPORAL_ADDRESS is "here"',
    'host:port',
  ],
  [
    'a model without a provider',
    () => environment('HOLDFAST_MODEL', 'gpt-5'),
    'HOLDFAST_MODEL is "gpt-5"',
    'provider/model',
  ],
  [
    'a store of another kind',
    () => environment('HOLDFAST_STORE', 'mysql://u:word@db'),
    'HOLDFAST_STORE',
    'not shown',
    'sqlite:PATH',
  ],
  [
    'an unknown log level',
    () => environment('HOLDFAST_LOG_LEVEL', 'loud'),
    'HOLDFAST_LOG_LEVEL is "loud"',
    'warn',
  ],
  [
    'a version without its name',
    () => environment('HOLDFAST_DEPLOYMENT', 'd'),
    'HOLDFAST_BUILD_ID',
    'set both',
  ],
  ['a log level of a runtime', () => installRuntime?.('loud'), '"loud"', 'trace, debug'],
];

const definitions: readonly Case[] = [
  [
    'an agent of nothing',
    () => defineAgent?.(),
    'Agent',
    'received undefined',
    'known are name, instructions',
  ],
  ["an agent's name with spaces", () => agent({ name: 'a b' }), 'Agent "a b"', 'letters, digits'],
  [
    'a system prompt',
    () => agent({ systemPrompt: 'x' }),
    '"systemPrompt"',
    'known are name, instructions',
  ],
  ['a temperature beside the chain', () => agent({ temperature: 0 }), '"temperature"', 'chain'],
  ['a route as text', () => agent({ chain: ['anthropic/x'] }), 'chain.0', '{ provider, model }'],
  ['no route', () => agent({ chain: [] }), 'chain', 'at least one { provider, model }'],
  ['tools by name', () => agent({ tools: { t: tool() } }), 'tools', 'give an array'],
  ['a tool that is a function', () => agent({ tools: [() => 1] }), 'tools.0', 'defineTool'],
  [
    'a promise of tools',
    () => agent({ tools: [Promise.resolve([])] }),
    'tools.0',
    'connectMcp returned',
  ],
  ['a context that is a text', () => agent({ context: z.string() }), 'context', 'z.object('],
  ['a JSON schema for the output', () => agent({ output: { type: 'object' } }), 'output', 'zod 4'],
  [
    'a date in the output',
    () => agents({ output: z.object({ at: z.date() }) }),
    'Date',
    'z.string',
  ],
  ['another end', () => agent({ completion: 'json' }), 'completion', "'text' or 'tool'"],
  [
    'limits of an agent',
    () => agents({ limits: { maxIterations: 0 } }),
    'Agent "a"',
    'maxIterations',
    '>=1',
  ],
  [
    'approvals without a time',
    () => agents({ approvals: { onExpiry: 'reject' } }),
    'onExpiry "reject"',
    'expiresAfterMs',
  ],
  ['a tool twice', () => agents({ tools: [tool(), tool()] }), 'Tool "t"', 'must be unique'],
  [
    'an unknown provider',
    () => agents({ chain: [{ provider: 'open-ai', model: 'gpt-5' }] }),
    '"open-ai"',
    'this worker has anthropic',
  ],
  [
    'an unknown model',
    () => agents({ chain: [{ provider: 'anthropic', model: 'my-model' }] }),
    '"anthropic/my-model"',
    'windowTokens',
  ],
  [
    'a subagent that nobody has',
    () => agents({ tools: [defineSubagent?.({ name: 's', description: 'x', agent: 'nobody' })] }),
    '"nobody"',
    'this worker has a',
  ],
  [
    'a subagent without an agent',
    () => defineSubagent?.({ name: 's', description: 'x' }),
    'Subagent "s"',
    'defineAgent returned',
  ],
  [
    'a misspelled share',
    () => defineSubagent?.({ name: 's', description: 'x', agent: 'a', part: 1 }),
    '"part"',
    'share',
  ],
  ['a tool of nothing', () => defineTool?.(), 'Tool', 'known are name, description'],
  ["another SDK's parameters", () => tool({ parameters: {} }), 'Tool "t"', '"parameters"', 'input'],
  ['a JSON schema for the input', () => tool({ input: { type: 'object' } }), 'input', 'zod 4'],
  ['an input that is a text', () => tool({ input: z.string() }), '"string"', 'z.object('],
  [
    'a tool without work',
    () => tool({ execute: undefined, run: () => 1 }),
    'execute',
    'give a function',
    '"run"',
  ],
  [
    'a name of the runtime',
    () => agents({ tools: [tool({ name: 'ask_user' })] }),
    '"ask_user"',
    'another name',
  ],
  ['an unknown effect', () => tool({ effect: 'write' }), 'effect', "'irreversible'"],
  ['an approval that is true', () => tool({ approval: true }), 'approval', "'always'"],
  ['seconds as text', () => tool({ timeoutMs: '5s' }), 'timeoutMs is 5s', 'whole number from 1'],
  ['a label that is no parameter', () => tool({ label: 'id' }), '"id"', 'it has order'],
  ['a folder for the workspace', () => workspaceTools?.({ root: '/srv' }), '"root"', 'isReadOnly'],
];

const workers: readonly Case[] = [
  [
    'activities of nothing',
    () => createActivities?.(),
    'createActivities',
    '{ store, providers, agents }',
  ],
  [
    'a promise of a store',
    () => activities({ store: Promise.resolve() }),
    'store',
    'await openStore',
  ],
  [
    'one provider',
    () => activities({ providers: holdfast.anthropicProvider() }),
    'providers',
    'give an array',
  ],
  ['one agent', () => activities({ agents: agent() }), 'agents', 'give an array'],
  [
    'agents without defineAgent',
    () => activities({ agents: [{ name: 'a' }] }),
    'agents.0',
    'defineAgent',
  ],
  [
    'a misspelled option of activities',
    () => activities({ agent: agent() }),
    '"agent"',
    'Known options: agents',
  ],
  [
    'a notifier that is none',
    () => activities({ notifiers: [{ name: 'n' }] }),
    'notifiers.0',
    'slackNotifier',
  ],
  [
    'prices by other names',
    () => activities({ prices: { m: { in: 1 } } }),
    'prices["m"]',
    '{ input: 2, output: 10 }',
  ],
  [
    'an approver who is no key',
    () => activities({ approvers: ['me'] }),
    '"me"',
    'holdfast approval-key',
  ],
  ['no key', () => provider(anthropicProvider?.()), '"anthropic"', 'Pass `apiKey`'],
  [
    "another SDK's base URL",
    () => provider(anthropicProvider?.({ apiKey: 'k', baseURL: 'http://a' })),
    '"baseURL"',
    'baseUrl',
  ],
  [
    'a base URL without a scheme',
    () => provider(anthropicProvider?.({ apiKey: 'k', baseUrl: 'host' })),
    'The base URL',
    'https://host/path',
  ],
  [
    'another API',
    () => provider(openaiProvider?.({ name: 'anthropic', apiKey: 'k', api: 'completions' })),
    '"completions"',
    "'responses' or 'chat'",
  ],
  ['an unknown preset', () => presetProvider?.('groq'), '"groq"', 'mistral', "api: 'chat'"],
  [
    'a channel for Slack',
    () => slackNotifier?.({ channel: '#a' }),
    'url',
    '"channel"',
    'name, url, timeoutMs',
  ],
  [
    'a webhook at a host',
    () => webhookNotifier?.({ ...webhook, url: 'host' }),
    'url',
    'not shown',
    'https://host/path',
  ],
  [
    'a short secret',
    () => webhookNotifier?.({ ...webhook, secret: 'x' }),
    'secret',
    'fewer than 16',
  ],
  ['a worker of nothing', () => createWorker?.(), 'createWorker', '{ connection, activities }'],
  [
    'a worker with an address',
    () => createWorker?.({ connection: 'a:1', activities: activities() }),
    "'a:1'",
    'connectWorker()',
  ],
  [
    'activities of another kind',
    () => createWorker?.({ connection, activities: { work: 1 } }),
    'activities',
    'createActivities()',
  ],
  [
    'agents for a worker',
    () => createWorker?.({ connection, activities: activities(), agents: [] }),
    'agents',
    'no such option',
  ],
  [
    'a plugin of nothing',
    () => HoldfastPlugin && new HoldfastPlugin(undefined),
    'HoldfastPlugin',
    'createActivities()',
  ],
  [
    'a plugin with a queue',
    () => HoldfastPlugin && new HoldfastPlugin({ activities: activities(), taskQueue: 'q' }),
    '"taskQueue"',
    'Worker.create',
  ],
];

const cases = [...starts, ...people, ...connections, ...definitions, ...workers].map(
  ([what, call, ...says]) => ({ what, call, says }),
);

test.each(cases)('$what is refused', async ({ call, says }) => {
  const refused = await Promise.resolve()
    .then(call)
    .then(() => 'accepted')
    .catch((thrown: unknown) => thrown);
  expect(refused).toBeInstanceOf(Error);
  const { name, message } = refused as Error;
  expect(['ClientError', 'InfraException', 'SetupError', 'UserError']).toContain(name);
  if (refused instanceof holdfast.ClientError) expect(refused.code).toBe('invalid-input');
  if (refused instanceof SetupError) expect(message).not.toContain('does not answer');
  for (const words of says) expect(message).toContain(words);
});

test('there are more than 60 of them, each once', () => {
  expect(cases.length).toBeGreaterThan(60);
  expect(new Set(cases.map(({ what }) => what)).size).toBe(cases.length);
});
