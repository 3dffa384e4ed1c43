/** One execution of a tool, and what is done about a call whose outcome is not known (ADR 0023, ADR 0031). */
import { MockActivityEnvironment } from '@temporalio/testing';
import Database from 'libsql';
import { z } from 'zod';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import type { Execution, ExecutionPlace } from '../../activities/tool-call/tool-execution';
import { executeTool, middleCodes } from '../../activities/tool-call/tool-execution';
import { decideExecution, settleUnknown } from '../../activities/tool-call/unknown-outcome';
import { defineTool } from '../../activities/tools/define-tool';
import type { ProbeAnswer, Tool, ToolContext, ToolDefinition } from '../../activities/tools/tool';
import type { OwnedTool } from '../../activities/stores/store';
import { ToolError } from '../../activities/tools/tool-error';
import { failureMessageChars } from '../../workflows/core/limits';
import { pdfFile, pngFile } from '../support/media-files';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;
beforeAll(async () => {
  stored = await temporaryStore();
});
afterAll(() => stored.dispose());

const run = {
  runId: 'run',
  agent: 'worker',
  tenant: 'acme',
  workspace: '/srv/project',
  context: undefined,
};
let progress: string[] = [];

function placeWith(stopped = new AbortController().signal): ExecutionPlace {
  return {
    store: stored.store,
    input: { toolCallId: 'call', idempotencyKey: 'run/call' } as ExecutionPlace['input'],
    workspace: '/srv/project',
    run,
    progress: (text) => progress.push(text),
    stopped,
    start: (work) => work(),
  };
}

type Effect = Tool['effect'];
const tool = (
  execute: (context: ToolContext) => unknown,
  effect: Effect = 'irreversible',
  more: Partial<ToolDefinition> = {},
): Tool =>
  defineTool({
    ...{ name: 'act', description: 'Acts.', input: z.object({}) },
    execute: (_input, context) => execute(context),
    effect,
    ...(effect === 'reconcilable'
      ? { probe: () => Promise.resolve({ type: 'not-applied' as const }) }
      : {}),
    ...more,
  });
const throwing = (thrown: unknown, effect?: Effect, more?: Partial<ToolDefinition>): Tool =>
  tool(
    () => {
      throw thrown;
    },
    effect,
    more,
  );

const execute = (called: Tool, place = placeWith()): Promise<Execution> =>
  new MockActivityEnvironment({ attempt: 3 }).run(() => executeTool(called, {}, place));

async function failed(called: Tool): Promise<Extract<Execution, { type: 'error' }>> {
  const execution = await execute(called);
  if (execution.type !== 'error') throw new Error('it worked');
  return execution;
}

const coded = (code: unknown, message = 'no'): Error => Object.assign(new Error(message), { code });
/** An error whose cause of a cause of this depth is the given one. */
const behind = (depth: number, cause: unknown): unknown =>
  depth === 0 ? cause : new Error('around', { cause: behind(depth - 1, cause) });

describe('a failed execution', () => {
  test.each([...middleCodes])(
    'of a request that was cut off by %s leaves it unknown',
    async (code) => {
      expect((await failed(throwing(coded(code)))).isOutcomeUnknown).toBe(true);
      expect((await failed(throwing(coded(code), 'read'))).isOutcomeUnknown).toBeUndefined();
    },
  );

  test.each<[string, unknown, true | undefined]>([
    ['the fifth error of a chain', behind(4, coded('EPIPE')), true],
    ['the sixth', behind(5, coded('EPIPE')), undefined],
    ['a plain object', { code: 'EPIPE' }, true],
    ['a word', 'EPIPE', undefined],
    ['nothing', null, undefined],
    ['a connection that was never made', coded('ECONNREFUSED'), undefined],
    ['a code that is no text', coded(['EPIPE']), undefined],
    ['the author: unknown', new ToolError('no', { code: 'outcome_unknown' }), true],
    [
      'the author: failed',
      Object.assign(new ToolError('no'), { cause: coded('EPIPE') }),
      undefined,
    ],
  ])('by %s leaves unknown what it must', async (_what, thrown, isUnknown) => {
    expect((await failed(throwing(thrown))).isOutcomeUnknown).toBe(isUnknown);
  });

  test('has the hint of the error, or of the tool', async () => {
    const more = { hint: 'Ask Eve.' };
    const own = new ToolError('no', {
      hint: 'Ask Ann.',
      recoverable: false,
      code: 'not_found' as never,
    });
    expect((await failed(throwing(own, 'read', more))).error.hint).toBe('Ask Ann.');
    expect((await failed(throwing(own, 'read', more))).error.recoverable).toBe(false);
    expect((await failed(throwing(new ToolError('no'), 'read', more))).error.hint).toBe('Ask Eve.');
    expect((await failed(throwing(new Error('no'), 'read', more))).error.hint).toBe('Ask Eve.');
  });

  test('gives its whole text if the message is cut, with private paths hidden', async () => {
    const text = `${'x'.repeat(failureMessageChars - 8)} /home/a`;
    expect(text).toHaveLength(failureMessageChars);
    for (const thrown of [new Error(text), new ToolError(text)])
      expect((await failed(throwing(thrown))).output).toBeUndefined();
    for (const thrown of [new Error(`${text}nn`), new ToolError(`${text}nn`)]) {
      const { output } = await failed(throwing(thrown));
      expect(output).toBe(`${'x'.repeat(failureMessageChars - 8)} ann`);
    }
    const given = new ToolError(`${text}nn`, { output: 'what it gave' });
    expect((await failed(throwing(given))).output).toBe('what it gave');
  });

  test('shows paths below the workspace as relative ones, in its message and in the whole text', async () => {
    const text = `/srv/project/src/a.ts ${'x'.repeat(failureMessageChars)}`;
    for (const thrown of [new Error(text), new ToolError(text)]) {
      const { output, error } = await failed(throwing(thrown));
      expect(output).toBe(`src/a.ts ${'x'.repeat(failureMessageChars)}`);
      expect(error.message).not.toContain('/srv');
    }
  });

  test.each<[Effect, RegExp]>([
    ['read', /nothing was changed/],
    ['irreversible', /whether it took effect is not known/],
  ])('at its time limit, of a tool that is %s, says what is known', async (effect, words) => {
    const waits = ({ signal }: ToolContext): Promise<never> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(new Error('aborted'));
        });
      });
    const { error, output } = await failed(tool(waits, effect, { timeoutMs: 5 }));
    expect(error).toMatchObject({
      code: 'tool_timeout',
      message: expect.stringMatching(words) as string,
    });
    expect(output).toBeUndefined();
    const tells = ({ signal }: ToolContext): Promise<never> =>
      waits({ signal } as ToolContext).catch(() => {
        throw new ToolError('closed in time');
      });
    expect((await failed(tool(tells, effect, { timeoutMs: 5 }))).error.message).toBe(
      'closed in time',
    );
  });

  test('that only people can mend is none for the model; nor is one of a call that must end', async () => {
    const infra = new InfraException({ code: 'store_unavailable', message: 'down' });
    await expect(execute(throwing(infra))).rejects.toBe(infra);
    const stop = new AbortController();
    const stops = tool(() => {
      stop.abort(new Error('stopped'));
      throw new Error('no');
    });
    await expect(execute(stops, placeWith(stop.signal))).rejects.toThrow('stopped');
  });

  test('of a tool that ignores its signal ends a little later', async () => {
    const stop = new AbortController();
    stop.abort(new Error('stopped'));
    const ignores = tool(() => new Promise(() => undefined));
    await expect(execute(ignores, placeWith(stop.signal))).rejects.toThrow('stopped');
  });
});

describe('a tool', () => {
  const give = async <Given>(ask: (context: ToolContext) => Promise<Given> | Given) => {
    const given: Given[] = [];
    const execution = await execute(
      tool(async (context) => given.push(await ask(context)), 'read'),
    );
    return { execution, given: given[0] };
  };

  test('knows its call and its run', async () => {
    progress = [];
    const { given } = await give((context) => {
      context.progress('half');
      return context;
    });
    expect(given).toMatchObject({
      ...{ ...run, toolCallId: 'call', idempotencyKey: 'run/call', attempt: 3 },
    });
    expect(given?.signal.aborted).toBe(false);
    expect(progress).toEqual(['half']);
  });

  test('reads stored outputs, and hears that a ref is none', async () => {
    const ref = await stored.store.putBlob('größer');
    const { given } = await give(({ readBlob }) => readBlob(ref, 2, 4));
    expect(given).toEqual({ text: 'öß', totalBytes: 8 });
    for (const none of [
      'x'.repeat(61),
      ref.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    ]) {
      const { execution } = await give(({ readBlob }) => readBlob(none, 0, 1));
      expect(execution).toMatchObject({
        error: {
          code: 'invalid_params',
          message: `No stored output has the ref "${none.slice(0, 60)}"`,
        },
      });
    }
  });

  test('finds a damaged output, which is no wrong ref', async () => {
    const damaged = await temporaryStore();
    const ref = await damaged.store.putBlob('whole');
    const database = new Database(damaged.file);
    database.exec(`UPDATE chunks SET bytes = x'00'`);
    database.close();
    const reads = tool(({ readBlob }) => readBlob(ref, 0, 1));
    const reading = execute(reads, { ...placeWith(), store: damaged.store });
    await expect(reading).rejects.toMatchObject({ failure: { code: 'store_corrupt' } });
    await damaged.dispose();
  });

  test('reads stored images and documents, and no texts', async () => {
    const text = Buffer.from('%PDF-1.7 is how a document begins');
    const [image, file] = [pngFile(4, 4), Buffer.concat([pdfFile(1), Buffer.from([0, 255, 254])])];
    const kept = async (bytes: Buffer): Promise<unknown> => {
      const ref = await stored.store.putBlob(bytes);
      return (await give(({ readMedia }) => readMedia?.(ref))).given;
    };
    expect(await kept(image)).toEqual({ type: 'image', data: image });
    expect(await kept(file)).toEqual({ type: 'file', data: file });
    expect(await kept(text)).toBeUndefined();
    expect(await kept(Buffer.from('words'))).toBeUndefined();
    expect((await give(({ readMedia }) => readMedia?.('none'))).given).toBeUndefined();
  });
});

describe('a call', () => {
  let events: string[];
  beforeEach(() => {
    events = [];
  });
  const recorded = (type: 'begun' | 'executing'): OwnedTool => ({
    ...{ type, owner: 'me' },
    intent: { key: 'run/call', tool: 'act', inputDigest: 'd', startedAtMs: 0 },
  });
  const acting = (effect: Effect, answer?: ProbeAnswer): Tool =>
    tool(
      () => {
        events.push('execute');
        return 'done';
      },
      effect,
      answer === undefined
        ? {}
        : {
            probe: () => {
              events.push('probe');
              return Promise.resolve(answer);
            },
          },
    );
  const decide = (called: Tool, record: OwnedTool | undefined, count: number): Promise<Execution> =>
    new MockActivityEnvironment().run(() =>
      decideExecution(called, {}, { record, lost: { count, max: 3 } }, placeWith()),
    );

  const applied: ProbeAnswer = { type: 'applied', output: 'was done' };
  const notApplied: ProbeAnswer = { type: 'not-applied' };
  const unknown: ProbeAnswer = { type: 'unknown', evidence: 'no answer' };
  const done = { type: 'output', text: 'done' };
  const says = (code: string, message: RegExp) => ({
    ...{ type: 'error', error: { code, message: expect.stringMatching(message) as string } },
  });
  const notKnown = (message: RegExp) => ({
    ...{ ...says('outcome_unknown', message), isOutcomeUnknown: true },
  });

  test.each<
    [Effect, 'begun' | 'executing' | undefined, ProbeAnswer | undefined, number, object, string[]]
  >([
    ['read', undefined, undefined, 2, done, ['execute']],
    [
      ...(['read', undefined, undefined, 3] as const),
      says(
        'tool_execution_failed',
        /^3 workers were lost while .* not run again; nothing was changed/,
      ),
      [],
    ],
    ['keyed', 'begun', undefined, 9, done, ['execute']],
    ['keyed', 'executing', undefined, 2, done, ['execute']],
    [
      'keyed',
      'executing',
      undefined,
      3,
      notKnown(/^3 workers were lost .*none of them reported/),
      [],
    ],
    ['irreversible', 'begun', undefined, 9, done, ['execute']],
    [
      ...(['irreversible', 'executing', undefined, 0] as const),
      notKnown(
        /^An earlier attempt of this call began at 1970-01-01T00:00:00.000Z .*cannot be probed/,
      ),
      [],
    ],
    ['reconcilable', 'begun', notApplied, 9, done, ['execute']],
    [
      ...(['reconcilable', 'executing', applied, 3] as const),
      { type: 'output', text: 'was done' },
      ['probe'],
    ],
    ['reconcilable', 'executing', notApplied, 2, done, ['probe', 'execute']],
    [
      ...(['reconcilable', 'executing', notApplied, 3] as const),
      says('tool_execution_failed', /^3 workers .*its probe says that it did not take effect/),
      ['probe'],
    ],
    [
      ...(['reconcilable', 'executing', unknown, 0] as const),
      notKnown(/^An earlier attempt .*no answer/),
      ['probe'],
    ],
    [
      'reconcilable',
      'executing',
      applied,
      4,
      notKnown(/^4 workers were lost .*not probed again/),
      [],
    ],
  ])(
    'that is %s, %s, with a probe that says %j, and has lost %d workers',
    async (effect, phase, answer, count, execution, happened) => {
      const record = phase && recorded(phase);
      expect(await decide(acting(effect, answer), record, count)).toMatchObject(execution);
      expect(events).toEqual(happened);
    },
  );

  test('that has lost one worker says so in the singular', async () => {
    const lost = await new MockActivityEnvironment().run(() =>
      decideExecution(
        acting('read'),
        {},
        { record: undefined, lost: { count: 1, max: 1 } },
        placeWith(),
      ),
    );
    expect(lost).toMatchObject(says('tool_execution_failed', /^1 worker was lost/));
  });

  const settle = (called: Tool, code: string, isOutcomeUnknown?: true): Promise<Execution> =>
    new MockActivityEnvironment().run(() => {
      const error = { code, message: 'cut off' } as Extract<Execution, { type: 'error' }>['error'];
      const given = { type: 'error' as const, error, output: 'so far' };
      return settleUnknown(called, {}, placeWith(), {
        ...given,
        ...(isOutcomeUnknown && { isOutcomeUnknown }),
      });
    });

  test.each<[string, Tool, string, true | undefined, object]>([
    [
      'that is known',
      tool(() => 1),
      'tool_execution_failed',
      undefined,
      says('tool_execution_failed', /^cut off$/),
    ],
    [
      'of a read tool',
      tool(() => 1, 'read'),
      'tool_execution_failed',
      true,
      says('tool_execution_failed', /^cut off$/),
    ],
    ['at the time limit', tool(() => 1), 'tool_timeout', true, says('tool_timeout', /^cut off$/)],
    [
      'midway',
      tool(() => 1),
      'tool_execution_failed',
      true,
      notKnown(/^The call failed midway; .*\(cut off\)/),
    ],
    [
      ...([
        'that the probe finds',
        tool(() => 1, 'reconcilable', { probe: () => Promise.resolve(applied) }),
      ] as const),
      ...(['tool_timeout', true] as const),
      { type: 'output', text: 'was done' },
    ],
    [
      ...(['that the probe does not find', tool(() => 1, 'reconcilable')] as const),
      ...(['tool_timeout', true] as const),
      { ...says('tool_timeout', /^cut off; it did not take effect$/), output: 'so far' },
    ],
    [
      ...([
        'that nobody knows',
        tool(() => 1, 'reconcilable', { probe: () => Promise.resolve(unknown) }),
      ] as const),
      ...(['tool_timeout', true] as const),
      notKnown(/midway.*cut off; no answer/),
    ],
  ])('with a failure %s is settled', async (_which, called, code, isUnknown, execution) => {
    const settled = await settle(called, code, isUnknown);
    expect(settled).toMatchObject(execution);
    if (
      !('isOutcomeUnknown' in execution) &&
      settled.type === 'error' &&
      called.effect === 'reconcilable'
    )
      expect(settled.isOutcomeUnknown).toBeUndefined();
  });

  test.each<[string, () => unknown, object]>([
    ['fails', () => Promise.reject(new Error('broken')), notKnown(/its probe failed: broken/)],
    [
      'answers with nothing that is known',
      () => Promise.resolve({ type: 'maybe' }),
      notKnown(/no type that is known/),
    ],
  ])('whose probe %s stays unknown', async (_how, probe, execution) => {
    const called = tool(() => 1, 'reconcilable', { probe } as Partial<ToolDefinition>);
    expect(await settle(called, 'tool_execution_failed', true)).toMatchObject(execution);
  });

  test('whose probe finds the store down ends as that', async () => {
    const infra = new InfraException({ code: 'store_unavailable', message: 'down' });
    const called = tool(() => 1, 'reconcilable', { probe: () => Promise.reject(infra) });
    await expect(settle(called, 'tool_execution_failed', true)).rejects.toBe(infra);
  });

  test('that is keyed and has used up its time, or says itself that it does not know, is not repeated', async () => {
    for (const thrown of [
      new ToolError('no', { code: 'outcome_unknown' }),
      new ToolError('no', { code: 'tool_timeout' as never }),
    ]) {
      events = [];
      const called = tool(() => {
        events.push('execute');
        throw thrown;
      }, 'keyed');
      expect(await decide(called, recorded('begun'), 0)).toMatchObject({ type: 'error' });
      expect(events).toEqual(['execute']);
    }
  });
});
