/** Definitions of tools that are Temporal code: every wrong one is refused at once, by thing, value and remedy. */
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import type { Tool, ToolDefinition } from '../../../activities/tools/tool';
import { UserError } from '../../../activities/lifecycle/user-error';
import { toolContext } from '../tool-context';

const input = z.object({ order: z.string() });

/** As a program without types may write it. */
function define(execute: object, more: Partial<ToolDefinition> = {}): Tool {
  const given = { name: 'charge', description: 'Charges.', input, execute, ...more };
  return defineTool(given as unknown as ToolDefinition<typeof input>);
}

const activity = { activity: 'charge' } as const;
const nexus = { nexusOperation: 'charge', service: 'billing', endpoint: 'pay' } as const;

test.each<[string, object, Partial<ToolDefinition>, RegExp]>([
  ['no code', {}, {}, /names no Temporal code; give a function, or exactly one of/],
  ['two kinds', { ...activity, workflow: 'x' }, {}, /names activity and workflow; give/],
  ['an empty name', { activity: ' ' }, {}, /execute\.activity: give a name that is not empty/],
  ['no name', { activity: undefined }, {}, /execute\.activity: give a name/],
  ['an unknown key', { ...activity, queue: 'x' }, {}, /execute: Unrecognized key: "queue"/],
  ['arguments that are none', { ...activity, args: ['x'] }, {}, /execute\.args: give a function/],
  [
    'a schema that is none',
    { ...activity, result: {} },
    {},
    /execute\.result: give a schema of zod/,
  ],
  ['no heartbeat', { ...activity, heartbeatTimeoutMs: 0 }, {}, /execute\.heartbeatTimeoutMs/],
  [
    'an endless wait for a worker',
    { ...activity, scheduleToStartTimeoutMs: 86_400_001 },
    {},
    /scheduleToStartTimeoutMs: give at most 86400000 milliseconds, a day/,
  ],
  [
    'endless retries',
    { ...activity, retry: { initialInterval: '1 s' } },
    { effect: 'read' },
    /execute\.retry\.maximumAttempts: give the number of attempts/,
  ],
  [
    'an interval that is none',
    { ...activity, retry: { maximumAttempts: 2, initialInterval: 'soon' } },
    { effect: 'read' },
    /execute\.retry is not accepted by Temporal: .*soon/,
  ],
  [
    'retries of what may not be repeated',
    { ...activity, retry: { maximumAttempts: 3 } },
    {},
    /gives 3 attempts, but effect "irreversible" may not be repeated; leave retry out, or say/,
  ],
  [
    'a key that goes nowhere',
    activity,
    { effect: 'keyed' },
    /is "keyed", but nothing gives its key/,
  ],
  ['a key that goes nowhere', nexus, { effect: 'keyed' }, /add input: \(input, \{ idempotencyKey/],
  ['a Nexus operation that may happen once', nexus, {}, /cannot have effect "irreversible"; say/],
  ['no endpoint', { ...nexus, endpoint: undefined }, { effect: 'read' }, /execute\.endpoint/],
  [
    'a quick one',
    activity,
    { effect: 'read', quick: true },
    /is quick, but its work is Temporal code/,
  ],
  ['a text', 'charge' as unknown as object, {}, /execute: give a function, or \{ activity \}/],
])('refuses %s', (_what, execute, more, message) => {
  expect(() => define(execute, more)).toThrow(UserError);
  expect(() => define(execute, more)).toThrow(message);
  expect(() => define(execute, more)).toThrow(/"charge"/);
});

test.each<[string, object, RegExp]>([
  ['arguments outside of an array', { ...activity, args: () => 'x' }, /returned no array; return/],
  [
    'an empty id',
    { workflow: 'ship', workflowId: () => '' },
    /returned ""; return a text of 1 to 1000/,
  ],
])('a function that gives %s fails its call', (_what, execute, message) => {
  const tool = define(execute);
  expect(() => tool.execute({ order: 'A' }, toolContext())).toThrow(message);
});

test('prepares each kind with its defaults', () => {
  const prepared = (execute: object, more: Partial<ToolDefinition> = {}): unknown =>
    define(execute, more).execute({ order: 'A' }, toolContext());
  const shared = { args: [{ order: 'A' }], timeoutMs: 60_000 };
  expect(prepared({ workflow: 'ship', taskQueue: 'q' })).toEqual({
    work: { type: 'workflow', name: 'ship', taskQueue: 'q', workflowId: 'key-1', ...shared },
  });
  expect(prepared(nexus, { effect: 'read' })).toEqual({
    work: { type: 'nexus', name: 'charge', service: 'billing', endpoint: 'pay', ...shared },
  });
  expect(prepared(activity, { effect: 'read' })).toMatchObject({
    work: { retry: { maximumAttempts: 3 } },
  });
});

test('types of arguments and of the context are those of the schemas', () => {
  const tool = defineTool({
    name: 'charge',
    description: 'Charges.',
    input,
    context: z.object({ customer: z.string() }),
    execute: {
      activity: 'charge',
      args: ({ order }, { context: { customer } }) => [order, customer],
    },
  });
  const context = toolContext({ context: { customer: 'ada' } });
  expect(tool.execute({ order: 'A' }, context)).toMatchObject({ work: { args: ['A', 'ada'] } });
  // @ts-expect-error a key that no kind of code has
  const odd: ToolDefinition<typeof input>['execute'] = { activity: 'charge', queue: 'payments' };
  expect(odd).toBeDefined();
});
