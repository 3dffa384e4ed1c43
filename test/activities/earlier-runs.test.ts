/** What happens to a call whose action was already done by a run that its own run builds on. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { outcomeIn } from '../../activities/tool-call/earlier-runs';
import { wholeOutput } from '../../activities/tool-call/path-origin';
import { defineTool } from '../../activities/tools/define-tool';
import type { ProbeAnswer, Tool } from '../../activities/tools/tool';
import { ToolError } from '../../activities/tools/tool-error';
import type { JsonObject } from '../../workflows/core/json';
import type { Lineage, RunToolResult } from '../../workflows/core/tools/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import { workerActivities } from '../support/worker-activities';

let stored: TemporaryStore;
/** Keys of the effects, in order. */
let effects: string[];
/** What each tool does once, instead of succeeding. */
let troubles: Error[];
let probe: (key: string) => ProbeAnswer;
beforeEach(async () => {
  stored = await temporaryStore();
  effects = [];
  troubles = [];
  probe = (key) => (effects.includes(key) ? { type: 'applied', output: 'found' } : unapplied);
});
afterEach(() => stored.dispose());

const unapplied: ProbeAnswer = { type: 'not-applied' };
const input = z.object({ to: z.string(), cents: z.number() });
const base = {
  description: 'Pays.',
  input,
  execute: (_given: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
    const trouble = troubles.shift();
    if (trouble !== undefined) throw trouble;
    if (!effects.includes(idempotencyKey)) effects.push(idempotencyKey);
    return `receipt ${effects.length}`;
  },
} as const;
const tools = {
  keyed: defineTool({ ...base, name: 'keyed', effect: 'keyed' }),
  reconcilable: defineTool({
    ...base,
    name: 'reconcilable',
    effect: 'reconcilable',
    probe: (key) => Promise.resolve(probe(key)),
  }),
  irreversible: defineTool({ ...base, name: 'irreversible' }),
  asking: defineTool({ ...base, name: 'asking', onUnknown: 'ask-person' }),
  read: defineTool({ ...base, name: 'read', effect: 'read' }),
  writing: defineTool({
    ...base,
    name: 'writing',
    effect: 'reconcilable',
    editsFile: 'to',
    probe: (key) => Promise.resolve(probe(key)),
  }),
} satisfies Record<string, Tool>;
type ToolName = keyof typeof tools;

const rent = { to: 'landlord', cents: 70_000 };
/** The same, with its keys in another order. */
const sameRent = { cents: 70_000, to: 'landlord' };

/** A run's calls: `first/1`, in its iterations. */
function runOf(
  runKey: string,
  lineage: Omit<Partial<Lineage>, 'iteration'> = {},
  own: readonly Tool[] = Object.values(tools),
) {
  let calls = 0;
  return async (
    name: ToolName | 'transfer',
    iteration: number,
    given: JsonObject = rent,
  ): Promise<RunToolResult> => {
    const { store } = stored;
    const activities = workerActivities(store, own);
    const { snapshot } = await activities.prepareRun({ flags: [], agent: 'worker', goal: 'Pay.' });
    const toolCallId = `c${(calls += 1)}`;
    const call = {
      storeId: store.id,
      definition: snapshot.definition,
      toolCallId,
      name,
      input: given,
      idempotencyKey: `${runKey}/${toolCallId}`,
      lineage: { iteration, ...lineage },
    };
    const info = { attempt: 1, currentAttemptScheduledTimestampMs: Date.now() };
    return new MockActivityEnvironment(info).run(() => activities.runTool(call));
  };
}
const first = () => runOf('first/1');
const origin = (runKey: string, iteration: number) => ({ runKey, iteration });
const fork = (iteration: number, of = 'first/1', runKey = 'fork/1') =>
  runOf(runKey, { origins: [origin(of, iteration)] });

async function contentOf({ result }: RunToolResult): Promise<string> {
  return (await stored.store.getBlob(result ?? '')).toString('utf8');
}

/** Leaves a call as a killed worker leaves it. */
async function interrupted(name: ToolName, phase: 'begun' | 'executing'): Promise<void> {
  const { store } = stored;
  const call = first();
  troubles = [new ToolError('not yet')];
  await call(name, 1);
  const [known] = await store.toolsOf(await actionOf(name));
  const intent = { ...known?.intent, key: 'first/1/cut' } as NonNullable<typeof known>['intent'];
  const claim = await store.beginTool(intent, 1);
  if (phase === 'executing' && 'owner' in claim)
    await store.moveTool(intent.key, claim.owner, phase);
}

async function actionOf(tool: string) {
  const known = await stored.store.getTool('first/1/c1');
  const { inputDigest } = known.type === 'none' ? { inputDigest: '' } : known.intent;
  return { runKey: 'first/1', tool, inputDigest };
}

describe.each(['keyed', 'reconcilable', 'irreversible'] as const)('what %s did', (name) => {
  test('after the point is told and not done again; arguments are compared as JSON', async () => {
    await first()(name, 3);
    const answered = await fork(2)(name, 3, sameRent);
    expect(effects).toEqual(['first/1/c1']);
    const content = await contentOf(answered);
    expect(content).toMatch(/\[Done at 20\S+Z by run \\"first\\".* not done again/);
    expect(content).toContain('receipt 1');
    expect(answered.error).toBeUndefined();
  });

  test('before the point, or with other arguments, or in repeatEffects, is done', async () => {
    await first()(name, 2);
    await fork(2)(name, 3);
    await fork(1, 'first/1', 'fork/2')(name, 2, { ...rent, cents: 1 });
    const origins = [origin('first/1', 1)];
    await runOf('fork/3', { origins, repeatEffects: [name] })(name, 2);
    expect(effects).toEqual(['first/1/c1', 'fork/1/c1', 'fork/2/c1', 'fork/3/c1']);
  });

  test('n times is told n times, even to calls at the same time', async () => {
    const call = first();
    await call(name, 3);
    await call(name, 3);
    const again = fork(2);
    await Promise.all([again(name, 3), again(name, 3), again(name, 3)]);
    expect(effects.filter((key) => key.startsWith('fork'))).toHaveLength(1);
    await fork(2, 'first/1', 'other/1')(name, 3);
    expect(effects).toHaveLength(3);
  });

  test('while the fork already runs is known when the call comes', async () => {
    const again = fork(0);
    await again('read', 1);
    const call = first();
    await call(name, 1);
    const before = effects.length;
    await again(name, 2);
    expect(effects).toHaveLength(before);
  });

  test('and failed without an effect is done', async () => {
    troubles = [new ToolError('no money')];
    const call = first();
    expect((await call(name, 2)).error?.message).toContain('no money');
    const again = fork(1);
    expect((await again(name, 2)).error).toBeUndefined();
    expect(effects).toEqual(['fork/1/c1']);
    // The first run tries once more and succeeds: a later fork knows that.
    await call(name, 3);
    const later = fork(1, 'first/1', 'later/1');
    await later(name, 2);
    expect(effects).toEqual(['fork/1/c1', 'first/1/c2']);
  });

  test('as a subagent is told to the fork, and to its subagents', async () => {
    const callers = [{ key: 'first/1/c9', iteration: 3 }];
    await runOf('first/t3.0/1', { callers })(name, 1);
    await fork(2)(name, 3);
    const below = [{ key: 'other/1/c4', iteration: 3 }];
    const origins = [origin('first/1', 2)];
    await runOf('other/t3.0/1', { callers: below, origins })(name, 1);
    expect(effects).toEqual(['first/t3.0/1/c1']);
    // A second subagent of the fork's tree finds it used.
    await runOf('other/1', { origins })(name, 4);
    expect(effects).toEqual(['first/t3.0/1/c1', 'other/1/c1']);
  });

  test('is done again if the continued run has read its result', async () => {
    const call = first();
    await call(name, 3);
    await call(name, 3);
    const origins = [{ ...origin('first/1', 2), known: ['c1'] }];
    const next = runOf('next/1', { origins });
    await next(name, 1);
    expect(effects).toHaveLength(2);
    await next(name, 1);
    expect(effects).toHaveLength(3);
  });

  test('in a fork is known to a fork of that fork, and what the first fork was told is not told again', async () => {
    const call = first();
    await call(name, 3);
    await call(name, 4);
    const again = fork(2);
    await again(name, 3);
    const origins = [origin('first/1', 2), origin('fork/1', 3)];
    const second = runOf('second/1', { origins });
    await second(name, 4);
    expect(effects).toHaveLength(2);
    await again('irreversible', 5, { ...rent, cents: 5 });
    await second('irreversible', 5, { ...rent, cents: 5 });
    expect(effects).toHaveLength(3);
    await second(name, 5);
    expect(effects).toHaveLength(4);
  });
});

test('a fork of a subagent knows what that subagent did, but not what other runs of its tree did', async () => {
  const below = (callId: string) => ({ callers: [{ key: `first/1/${callId}`, iteration: 3 }] });
  await runOf('first/t3.0/1', below('c1'))('keyed', 2);
  await runOf('first/t3.1/1', below('c2'))('keyed', 2, { ...rent, cents: 2 });
  const origins = [{ ...origin('first/t3.0/1', 1), treeKey: 'first/1' }];
  const again = runOf('fork/1', { origins });
  await again('keyed', 2);
  await again('keyed', 2, { ...rent, cents: 2 });
  expect(effects).toEqual(['first/t3.0/1/c1', 'first/t3.1/1/c1', 'fork/1/c2']);
});

describe('the same action in other arguments', () => {
  const filled = (time: () => number) =>
    defineTool({
      ...base,
      name: 'transfer',
      effect: 'irreversible',
      input: z.object({
        to: z.string().trim(),
        currency: z.string().default('EUR'),
        atMs: z.number().default(time),
        tags: z.array(z.string()).default([]),
      }),
    });
  const mapped = defineTool({
    ...base,
    name: 'transfer',
    effect: 'irreversible',
    input: z.object({ to: z.string().transform((to) => new Map([[to, 1]])) }),
  });

  test('is known by what the schema makes of them', async () => {
    const tool = filled(() => 0);
    await runOf('first/1', {}, [tool])('transfer', 3, { to: 'landlord' });
    const again = runOf('fork/1', { origins: [origin('first/1', 2)] }, [tool]);
    await again('transfer', 3, { tags: [], currency: 'EUR', to: ' landlord' });
    expect(effects).toEqual(['first/1/c1']);
    await again('transfer', 4, { to: 'landlord', currency: 'USD' });
    expect(effects).toEqual(['first/1/c1', 'fork/1/c2']);
  });

  test('is known by the arguments as given where the schema fills in the time', async () => {
    const tool = filled(Date.now);
    await runOf('first/1', {}, [tool])('transfer', 3, { to: 'landlord' });
    const again = runOf('fork/1', { origins: [origin('first/1', 2)] }, [tool]);
    await again('transfer', 3, { to: 'landlord' });
    expect(effects).toEqual(['first/1/c1']);
  });

  test('is not taken for another one where JSON cannot carry what the schema makes', async () => {
    await runOf('first/1', {}, [mapped])('transfer', 3, { to: 'landlord' });
    const again = runOf('fork/1', { origins: [origin('first/1', 2)] }, [mapped]);
    await again('transfer', 3, { to: 'landlord' });
    await again('transfer', 3, { to: 'tenant' });
    expect(effects).toEqual(['first/1/c1', 'fork/1/c2']);
  });
});

test('a read tool runs again', async () => {
  await first()('read', 3);
  await fork(2)('read', 3);
  expect(effects).toEqual(['first/1/c1', 'fork/1/c1']);
});

describe.each(['begun', 'executing'] as const)('a call that the first run left %s', (phase) => {
  test('is made under the original key if the service knows keys', async () => {
    await interrupted('keyed', phase);
    const answered = await fork(0)('keyed', 1);
    expect(answered.error).toBeUndefined();
    expect(effects).toEqual(['first/1/cut']);
  });

  test('is told if its probe finds it with the original key', async () => {
    await interrupted('reconcilable', phase);
    effects = ['first/1/cut'];
    expect(await contentOf(await fork(0)('reconcilable', 1))).toContain('found');
    expect(effects).toEqual(['first/1/cut']);
  });

  test.each(['reconcilable', 'irreversible', 'asking'] as const)(
    'is otherwise neither made nor assumed to be made: %s',
    async (name) => {
      await interrupted(name, phase);
      const { error, isOutcomeUnknown } = await fork(0)(name, 1);
      expect(effects).toEqual([]);
      expect(isOutcomeUnknown).toBe(true);
      expect(error?.code).toBe('outcome_unknown');
      expect(error?.message).toMatch(/^Run "first", which this run builds on, began the same/);
    },
  );
});

test('what is told of an earlier run is the whole original output, line by line, for a rule that reads it', async () => {
  await first()('keyed', 3);
  const answered = await fork(2)('keyed', 3);
  const { content } = JSON.parse(await contentOf(answered)) as { readonly content: string };
  expect(content).toContain('not done again');
  expect(await wholeOutput(stored.store, { content })).toBe('receipt 1');
});

test('a call whose outcome the first run itself did not know stays unknown', async () => {
  troubles = [Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })];
  await first()('irreversible', 3);
  const { error } = await fork(2)('irreversible', 3);
  expect(effects).toEqual([]);
  expect(error?.message).toContain('ECONNRESET');
});

test('a person is asked about what an irreversible tool did, if its author wants to ask', async () => {
  await first()('asking', 3);
  const { error, isOutcomeUnknown } = await fork(2)('asking', 3);
  expect(effects).toHaveLength(1);
  expect(isOutcomeUnknown).toBe(true);
  expect(error?.message).toMatch(/made the same call at 20\S+ and reported: receipt 1/);
});

test('a file is written again if it no longer holds what the first run wrote', async () => {
  await first()('writing', 3);
  const again = fork(2);
  expect(await contentOf(await again('writing', 3))).toContain('not done again');
  probe = () => unapplied;
  effects = [];
  await fork(2, 'first/1', 'other/1')('writing', 3);
  expect(effects).toEqual(['first/1/c1']);
});

test('a later attempt is answered by the same record', async () => {
  await first()('irreversible', 3);
  const { store } = stored;
  const lineage = { origins: [origin('first/1', 2)] };
  // The worker of the first attempt was killed after it had recorded what answers the call.
  const known = await store.getTool('first/1/c1');
  if (known.type === 'none') throw new Error('no record');
  const bound = { ...known.intent, key: 'fork/1/c1', source: 'first/1/c1', iteration: 3 };
  await store.beginTool(bound, 1);
  const call = runOf('fork/1', lineage);
  const answered = await call('irreversible', 3);
  expect(await contentOf(answered)).toContain('not done again');
  const record = await store.getTool('fork/1/c1');
  expect(record.type === 'finished' && outcomeIn(record)).toEqual(answered);
  // The next one finds it used.
  await call('irreversible', 3);
  expect(effects).toEqual(['first/1/c1', 'fork/1/c2']);
});

test.each([
  [['irreversible'], undefined, /is only for a fork or a continued run/],
  [['reader'], [origin('first/1', 1)], /names "reader"; the tools that change something are/],
  [['read'], [origin('first/1', 1)], /names "read"/],
])('repeatEffects %j is checked', async (repeatEffects, origins, message) => {
  const activities = workerActivities(stored.store, Object.values(tools));
  const given = { flags: [], agent: 'worker', goal: 'Pay.', repeatEffects };
  const prepared = activities.prepareRun(origins === undefined ? given : { ...given, origins });
  await expect(prepared).rejects.toThrow(message);
});
