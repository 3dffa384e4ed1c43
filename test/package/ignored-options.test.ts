/**
 * Options and settings that would be ignored without a word: misspelled ones, those of another API, and values of another kind. Each
 * is refused where it is given, with the thing, the value and the remedy.
 */
import { Client, Connection } from '@temporalio/client';
import { closedConnection } from '../../client/closed-connection';
import { z } from 'zod';
import * as holdfast from '../../index';
import * as telemetry from '../../telemetry/index';
import * as testing from '../../testing/index';
import * as worker from '../../workers/index';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

/** As a program without types may call it. */
type Loose = Readonly<Record<string, (...values: readonly unknown[]) => unknown>>;
const { connect, createActivities, createEncryption, defineAgent, fromAiSdk, workspaceTools } =
  holdfast as unknown as Loose;
const { createWorker, openTemporal, readEnvironment } = worker as unknown as Loose;
const { startTelemetry } = telemetry as unknown as Loose;
const reply = testing.reply as unknown as Loose;
const fault = testing.fault as unknown as Loose;

/** Nothing listens there: what is sent fails in another way. */
const connection = Connection.lazy({ address: '127.0.0.1:1', plugins: [closedConnection] });
const temporal = new Client({ connection });
const client = new holdfast.AgentClient(temporal) as unknown as Loose;
const run = new holdfast.AgentClient(temporal).run('run-1') as unknown as Loose;
const thread = new holdfast.AgentClient(temporal).thread('t') as unknown as Loose;
let stored: TemporaryStore;
let emulator: testing.VendorEmulator;
beforeAll(async () => {
  stored = await temporaryStore();
  emulator = await testing.VendorEmulator.start();
});
afterAll(async () => {
  await emulator.stop();
  await stored.dispose();
  await connection.close();
});

const route = { provider: 'anthropic', model: 'claude-sonnet-5' };
const activities = (more: object = {}): unknown => {
  const agent = { name: 'a', instructions: 'x', chain: [route], tools: [], ...more };
  const providers = [holdfast.anthropicProvider({ apiKey: 'k' })];
  return createActivities?.({ store: stored.store, providers, agents: [defineAgent?.(agent)] });
};
const chat = { api: 'chat', apiKey: 'k' } as const;
const provider = (given: holdfast.Provider): unknown => {
  const chain = [{ provider: 'openai', model: 'gpt-5' }];
  const agent = defineAgent?.({ name: 'a', instructions: 'x', chain, tools: [] });
  return createActivities?.({ store: stored.store, providers: [given], agents: [agent] });
};
const commands = (given: unknown): unknown => workspaceTools?.({ commands: given });
const schedule = (more: object): unknown =>
  client['schedule']?.('a', { goal: 'x' }, { scheduleId: 's', spec: {}, ...more });
const scripted = (step: unknown): unknown => {
  emulator.script([step as testing.ReplyStep]);
  return undefined;
};

type Case = readonly [what: string, call: () => unknown, ...says: string[]];

const clients: readonly Case[] = [
  [
    'a goal in place of the options',
    () => client['start']?.('a', 'Greet Ada.'),
    "'Greet Ada.'",
    '{ goal:',
  ],
  ['a thread without options', () => thread['start']?.('a'), 'undefined', '{ goal:'],
  [
    'an agent named by a sentence',
    () => client['start']?.('my agent', { goal: 'x' }),
    '"my agent"',
  ],
  ['a digest in place of options', () => run['approve']?.('i', 'digest'), 'an object of options'],
  ['no client', () => new holdfast.AgentClient(undefined as never), 'Client', 'connect({ address'],
  [
    'a file for TLS',
    () => connect?.({ tls: { certPath: 'a.pem' } }),
    '"certPath"',
    'clientCertPair',
  ],
  [
    'one cron expression',
    () => schedule({ spec: { cronExpressions: '0 7 * * *' } }),
    'spec.cronExpressions',
    'a list',
  ],
  [
    'an interval in words',
    () => schedule({ spec: { intervals: [{ every: 'soon' }] } }),
    "'soon'",
    'Correct its spec',
  ],
  [
    'an overlap in small letters',
    () => schedule({ spec: { intervals: [{ every: '1 day' }] }, policies: { overlap: 'skip' } }),
    "'skip'",
    'policies',
  ],
];

const workers: readonly Case[] = [
  [
    "a client's connection",
    () => createWorker?.({ connection, activities: activities() }),
    'connection',
    'connectWorker()',
  ],
  [
    'a server that was to end',
    () => openTemporal?.(readEnvironment?.({}), { untilExit: 1 }),
    '"untilExit"',
  ],
  [
    'a process by its name',
    () => openTemporal?.(readEnvironment?.({}), { untilExitOf: 'me' }),
    'untilExitOf',
    'process.pid',
  ],
  [
    'variables for telemetry',
    () => startTelemetry?.({ OTEL_SERVICE_NAME: 'a' }),
    'readEnvironment()',
  ],
  [
    'a misspelled variable',
    () => readEnvironment?.({ HOLDFAST_TASKQUEUE: 'q' }),
    'HOLDFAST_TASKQUEUE',
    'did you mean HOLDFAST_TASK_QUEUE',
  ],
  [
    'a route twice',
    () => activities({ chain: [route, { ...route, maxOutputTokens: 100 }] }),
    '"anthropic/claude-sonnet-5" twice',
    'Leave one out',
  ],
  [
    'a dialect by its name',
    () => provider(holdfast.openaiProvider({ ...chat, dialect: 'mistral' as never })),
    '`dialect`',
    'chatDialects.mistral',
  ],
  [
    'a header as a string',
    () => provider(holdfast.openaiProvider({ ...chat, headers: 'x-team: a' as never })),
    '`headers`',
    "{ 'x-team'",
  ],
  [
    'a key that is a number',
    () => provider(holdfast.openaiProvider({ ...chat, apiKey: 5 as never })),
    '`apiKey`',
    'not a string',
  ],
  ['one variable', () => readEnvironment?.('HOLDFAST_STORE'), 'variables by name', 'process.env'],
  ['an encryption of nothing', () => createEncryption?.(), 'createEncryption', '{ keyId, keys }'],
  ['no tools of the AI SDK', () => fromAiSdk?.(), 'undefined', "the tools' names"],
];

const commandOptions: readonly Case[] = [
  ['a word for commands', () => commands('all'), 'commands', 'expected object'],
  ['a misspelled sandbox', () => commands({ sandboxed: true }), '"sandboxed"', 'sandbox'],
  [
    'a misspelled network',
    () => commands({ sandbox: { net: false } }),
    'commands.sandbox',
    '"net"',
  ],
  [
    'a shell by its path',
    () => commands({ shell: '/bin/bash' }),
    'commands.shell',
    'true or false',
  ],
  ['a misspelled time limit', () => commands({ timeoutMs: 5 }), '"timeoutMs"', 'timeLimitMs'],
  ['a time limit as a string', () => commands({ timeLimitMs: '5s' }), 'timeLimitMs is 5s'],
  ['variables as a list', () => commands({ environment: ['A=1'] }), 'environment', 'by name'],
  ['an effect that is none', () => commands({ effect: 'keyed' }), 'effect', "'irreversible'"],
  [
    'calls of no tool',
    () => workspaceTools?.({ maxCalls: { bash: 1 } }),
    'maxCalls',
    'run_command',
  ],
  ['no calls', () => workspaceTools?.({ maxCalls: { run_command: 0 } }), 'maxCalls', '>=1'],
];

const scripts: readonly Case[] = [
  ['a delay of a reply', () => scripted(reply['text']?.('x', { delayMs: 5 })), '"delayMs"'],
  [
    'chunks',
    () => scripted(reply['text']?.('x', { delivery: { chunks: 3 } })),
    'delivery',
    '"chunks"',
  ],
  [
    'one call without a list',
    () => reply['toolCalls']?.({ name: 't', input: {} }),
    'reply.toolCalls',
    '[{ name, input }]',
  ],
  [
    'arguments by another name',
    () => reply['toolCalls']?.([{ name: 't', args: {} }]),
    'calls.0',
    '"args"',
  ],
  [
    'a call without a name',
    () => reply['toolCalls']?.([{ input: {} }]),
    'calls.0.name',
    'rawToolArguments',
  ],
  ['a status as a string', () => fault['http']?.('429'), "'429'", 'from 300 to 599'],
  ['a fault that succeeds', () => fault['http']?.(200), '200', 'fault.raw'],
  [
    'a header beside the options',
    () => fault['http']?.(429, { retryAfter: 5 }),
    '"retryAfter"',
    'headers',
  ],
  ['a cut at no place', () => fault['cutStream']?.({ after: 'x' }), 'cut', '"after"', 'afterText'],
  ['a stall for a time', () => fault['stall']?.({ ms: 5 }), 'stall', '"ms"'],
];

const cases = [...clients, ...workers, ...commandOptions, ...scripts].map(
  ([what, call, ...says]) => ({ what, call, says }),
);

test.each(cases)('$what is refused', async ({ call, says }) => {
  const refused = await Promise.resolve()
    .then(call)
    .then(() => 'accepted')
    .catch((thrown: unknown) => thrown);
  expect(refused).toBeInstanceOf(Error);
  const { name, message } = refused as Error;
  expect(['ClientError', 'SetupError', 'UserError']).toContain(name);
  for (const words of says) expect(message).toContain(words);
});

test('a script takes every option that a reply, a fault and a wait have', () => {
  const how = {
    charactersPerDelta: 3,
    delivery: { headersAfterMs: 1, crlf: true, bytesPerWrite: 2 },
  };
  const during = testing.reply.text('x', how);
  const { cutStream, stall, pause, storm, http } = testing.fault;
  emulator.script([
    testing.reply.toolCalls([{ name: 't', input: {}, id: 'c' }], { ...how, text: 'Now.' }),
    cutStream({ during, afterCharacters: 1, how: 'fin' }),
    stall({ afterText: 'x', pingEveryMs: 5 }),
    pause(5, { beforeClosing: true }),
    storm(5, 'comment', { afterEvents: 2 }),
    http(429, { headers: { 'retry-after': '1' }, error: { message: 'Slow down.' }, delayMs: 1 }),
  ]);
  const { name } = z.object({ name: z.string() }).parse(cutStream({ during }));
  expect(name).toBe('cut in a stream');
});
