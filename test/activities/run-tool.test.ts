/** What a tool call comes to when its probe, its output or its store fails it. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { retryFor } from '../../activities/lifecycle/retry-for';
import { defaultLimits } from '../../workflows/core/limits';
import type { CallBeat } from '../../activities/tool-call/attempts';
import { keptOutputChars, outputText, showOutput } from '../../activities/tool-output/tool-output';
import { defineTool } from '../../activities/tools/define-tool';
import type { ProbeAnswer, Tool } from '../../activities/tools/tool';
import { defined } from '../../workflows/core/json';
import type { ToolErrorCode } from '../../activities/tools/tool-error';
import { ToolError } from '../../activities/tools/tool-error';
import { toToolResponse } from '../../workflows/core/errors/tool-response';
import type { AgentError } from '../../workflows/core/failure';
import type { RunToolInput, RunToolResult } from '../../workflows/core/tools/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';
import { workerActivities } from '../support/worker-activities';

let stored: TemporaryStore;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

/** Runs a call of this tool; `interrupted` says that an earlier attempt started it and did not finish. */
async function runCall(
  tool: Tool,
  interrupted: boolean,
  attempt = 1,
  heartbeatDetails?: CallBeat,
): Promise<RunToolResult> {
  const { store } = stored;
  const activities = workerActivities(store, [tool]);
  const { snapshot } = await activities.prepareRun({ flags: [], agent: 'worker', goal: 'Work.' });
  const idempotencyKey = 'run/call';
  if (interrupted) {
    const intent = { key: idempotencyKey, tool: tool.name, inputDigest: 'x', startedAtMs: 0 };
    const earlier = await store.beginTool(intent);
    if ('owner' in earlier) await store.moveTool(idempotencyKey, earlier.owner, 'executing');
  }
  const call: RunToolInput = {
    storeId: store.id,
    definition: snapshot.definition,
    toolCallId: 'call',
    name: tool.name,
    input: {},
    idempotencyKey,
  };
  const info = { attempt, heartbeatDetails, currentAttemptScheduledTimestampMs: Date.now() };
  return new MockActivityEnvironment(info).run(() => activities.runTool(call));
}

/** Time for one more try of a service that cannot be reached. */
const briefMs = 1_500;

const base = { description: 'Acts.', input: z.object({}) } as const;

test('a probe that fails leaves the outcome unknown, tells no secret, and neither fails the run nor repeats the call', async () => {
  let executions = 0;
  const tool = defineTool({
    ...base,
    name: 'book',
    effect: 'reconcilable',
    execute: () => (executions += 1),
    timeoutMs: briefMs,
    probe: () => Promise.reject(new Error('connect ECONNREFUSED, token=abcdef1234567890')),
  });
  const { error } = await runCall(tool, true);
  expect(error).toMatchObject({ code: 'outcome_unknown' });
  expect(error?.message).toContain('ECONNREFUSED');
  expect(error?.message).not.toContain('abcdef1234567890');
  expect(executions).toBe(0);
});

describe('a failure in the middle of a call', () => {
  const reset = (): never => {
    throw new TypeError('fetch failed', {
      cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
    });
  };

  const refused = (): never => {
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  };

  const pay = (execute: () => unknown, timeoutMs?: number): Tool =>
    defineTool({ ...base, name: 'pay', effect: 'keyed', execute, ...defined({ timeoutMs }) });
  const book = (probe: () => Promise<ProbeAnswer>, execute: () => unknown = reset): Tool =>
    defineTool({ ...base, name: 'book', effect: 'reconcilable', execute, probe });

  test('of a keyed tool is repeated once with the same key', async () => {
    const keys: string[] = [];
    const tool = defineTool({
      ...base,
      name: 'pay',
      effect: 'keyed',
      execute: (_input, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        return keys.length === 1 ? reset() : 'paid';
      },
    });
    const result = await runCall(tool, false);
    expect(result).toMatchObject({ preview: 'paid' });
    expect(keys).toEqual(['run/call', 'run/call']);
  });

  test('of a keyed tool that fails again is told as unknown', async () => {
    const result = await runCall(pay(reset, briefMs), false);
    expect(result).toMatchObject({ isOutcomeUnknown: true, error: { code: 'outcome_unknown' } });
    expect(result.error?.message).toContain('times midway');
  });

  test('of a keyed tool is repeated with the same key until its service is back', async () => {
    const keys: string[] = [];
    const failures = [reset, refused, reset];
    const tool = defineTool({
      ...base,
      name: 'pay',
      effect: 'keyed',
      execute: (_input, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        failures.shift()?.();
        return 'paid';
      },
    });
    expect(await runCall(tool, false)).toMatchObject({ preview: 'paid' });
    expect(keys).toEqual(Array.from({ length: 4 }, () => 'run/call'));
  });

  test('of a keyed tool stays unknown where its repeats cannot reach the service', async () => {
    let executions = 0;
    const tool = pay(() => ((executions += 1) === 1 ? reset() : refused()), briefMs);
    expect(await runCall(tool, false)).toMatchObject({ isOutcomeUnknown: true });
  });

  test('of a keyed tool is what the repeat says, if the tool itself refuses', async () => {
    let executions = 0;
    const tool = pay(() => {
      executions += 1;
      if (executions === 1) return reset();
      throw new ToolError('The account is closed.');
    });
    const { error, isOutcomeUnknown } = await runCall(tool, false);
    expect(error).toMatchObject({ code: 'tool_execution_failed' });
    expect([executions, isOutcomeUnknown]).toEqual([2, undefined]);
  });

  test('of a reconcilable tool is probed until its service is back', async () => {
    const failures = [reset, refused];
    const tool = book(() => {
      failures.shift()?.();
      return Promise.resolve({ type: 'applied', output: 'booked' });
    });
    expect(await runCall(tool, false)).toMatchObject({ preview: 'booked' });
    expect(failures).toEqual([]);
  });

  test('of a reconcilable tool is probed once, if the probe itself is broken', async () => {
    let probes = 0;
    const tool = book(() => {
      probes += 1;
      throw new TypeError('answer is undefined');
    });
    expect(await runCall(tool, false)).toMatchObject({ isOutcomeUnknown: true });
    expect(probes).toBe(1);
  });

  test.each<[ProbeAnswer, Partial<RunToolResult>]>([
    [{ type: 'applied', output: 'booked' }, { preview: 'booked' }],
    [
      { type: 'not-applied' },
      { error: expect.objectContaining({ code: 'tool_execution_failed' }) as AgentError },
    ],
    [{ type: 'unknown', evidence: 'no answer' }, { isOutcomeUnknown: true }],
  ])('of a reconcilable tool is probed: %j', async (answer, expected) => {
    let executions = 0;
    const tool = book(
      () => Promise.resolve(answer),
      () => {
        executions += 1;
        return reset();
      },
    );
    expect(await runCall(tool, false)).toMatchObject(expected);
    expect(executions).toBe(1);
  });

  test('of an irreversible tool is told as unknown with the evidence, not as a plain failure', async () => {
    const result = await runCall(defineTool({ ...base, name: 'send', execute: reset }), false);
    expect(result).toMatchObject({ isOutcomeUnknown: true, error: { code: 'outcome_unknown' } });
    expect(result.error?.message).toContain('fetch failed');
  });

  test('before the request was sent is a plain failure', async () => {
    const result = await runCall(defineTool({ ...base, name: 'send', execute: refused }), false);
    expect(result.error?.code).toBe('tool_execution_failed');
    expect(result.isOutcomeUnknown).toBeUndefined();
  });

  test.each<[string, Error, boolean]>([
    ['a refused connection', new Error('connect ECONNREFUSED 10.0.0.1:5432'), true],
    ['a code alone', Object.assign(new Error('query failed'), { code: 'ENOTFOUND' }), true],
    ['a cause', new TypeError('fetch failed', { cause: new Error('other side closed') }), true],
    ['both addresses', new AggregateError([new Error('connect ETIMEDOUT ::1:80')]), true],
    ['axios, 503', Object.assign(new Error('failed'), { response: { status: 503 } }), true],
    ['a throttled service', new ToolError('slow down', { code: 'rate_limit' }), true],
    ['a service named by the author', new ToolError('the index: socket hang up'), true],
    ['a wrong column, as 500', Object.assign(new Error('no column "x"'), { status: 500 }), false],
    ['a wrong parameter', new Error('timeout must be at least 10'), false],
    ['a missing file', Object.assign(new Error('no such file'), { code: 'ENOENT' }), false],
  ])(
    '%s is reported as a failure of the service, not of the parameters: %#',
    async (_what, thrown, isService) => {
      const fails = (): never => {
        throw thrown;
      };
      const tool = defineTool({ ...base, name: 'ask', effect: 'read', execute: fails });
      const { error } = await runCall(tool, false);
      if (error === undefined) throw new Error('the call succeeded');
      const told = toToolResponse(error);
      expect(told.includes('The service behind this tool failed')).toBe(isService);
      expect(told.includes('Please check your parameters')).toBe(!isService);
      const hinted = defineTool({ ...base, name: 'ask', hint: 'Ask Eve.', execute: fails });
      expect((await runCall(hinted, false)).error?.hint).toBe('Ask Eve.');
    },
  );

  test.each<[Tool['effect'], true | undefined]>([
    ['irreversible', true],
    ['keyed', true],
    ['read', undefined],
  ])('at the time limit of a tool that is %s leaves unknown: %s', async (effect, isUnknown) => {
    const tool = defineTool({
      ...base,
      name: 'slow',
      effect,
      timeoutMs: 20,
      execute: (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('my own words'));
          });
        }),
    });
    const result = await runCall(tool, false);
    expect(result.error?.code).toBe('tool_timeout');
    expect(result.isOutcomeUnknown).toBe(isUnknown);
  });

  test('an effect that is finished just after the time limit is known', async () => {
    const tool = defineTool({
      ...base,
      name: 'slow',
      timeoutMs: 20,
      execute: (_input, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            setTimeout(resolve, 20, 'sent all the same');
          });
        }),
    });
    expect(await runCall(tool, false)).toMatchObject({ preview: 'sent all the same' });
  });
});

test('an output that JSON cannot carry is told as such, never as a failure of a call that took effect', async () => {
  const bigint = await runCall(
    defineTool({ ...base, name: 'pay', execute: () => ({ cents: 1n }) }),
    false,
  );
  expect(bigint.error).toBeUndefined();
  expect(bigint.preview).toContain('{"cents":"1n"}');
});

test('an output whose toJSON gives nothing is an empty output', async () => {
  const tool = defineTool({ ...base, name: 'odd', execute: () => ({ toJSON: () => undefined }) });
  expect((await runCall(tool, false)).error).toBeUndefined();
});

test('a code that a tool without types invents does not reach the core, which would fail its workflow task', async () => {
  const code = 'E_INVENTED' as ToolErrorCode;
  const execute = (): never => {
    throw new ToolError('no', { code });
  };
  const { error } = await runCall(defineTool({ ...base, name: 'odd', execute }), false);
  expect(error).toMatchObject({ code: 'tool_execution_failed', message: 'no' });
});

test('a step that takes long to fail uses up the patience', async () => {
  let steps = 0;
  const slow = retryFor(
    500,
    () => true,
    async () => {
      steps += 1;
      await new Promise((resolve) => setTimeout(resolve, 400));
      throw new Error('down');
    },
  );
  await expect(slow).rejects.toThrow('down');
  expect(steps).toBeLessThanOrEqual(2);
});

test('a probe whose answer is none leaves the outcome unknown', async () => {
  const probe = (): Promise<ProbeAnswer> => Promise.resolve('yes' as unknown as ProbeAnswer);
  const tool = defineTool({
    ...base,
    name: 'book',
    effect: 'reconcilable',
    execute: () => 1,
    probe,
  });
  const { error } = await runCall(tool, true);
  expect(error).toMatchObject({ code: 'outcome_unknown' });
  expect(error?.message).toContain('has no type that is known');
});

test('a thrown object that refuses to be looked at is an error for the model, not the end of the run', async () => {
  const sealed = new Proxy(new Error('sealed'), {
    getPrototypeOf: () => {
      throw new Error('no');
    },
  });
  const tool = defineTool({
    ...base,
    name: 'odd',
    effect: 'read',
    execute: () => {
      throw sealed;
    },
  });
  const { error } = await runCall(tool, false);
  expect(error).toMatchObject({
    code: 'tool_execution_failed',
    message: 'an error that cannot be read',
  });
});

test('progress that is no text fails no call', async () => {
  const tool = defineTool({
    ...base,
    name: 'chatty',
    effect: 'read',
    execute: (_input, { progress }) => {
      progress(undefined as unknown as string);
      return 'done';
    },
  });
  expect((await runCall(tool, false)).error).toBeUndefined();
});

test('a result that came too late for the server answers the next attempt in the same process', async () => {
  let executions = 0;
  const tool = defineTool({
    ...base,
    name: 'blocking',
    effect: 'read',
    execute: () => (executions += 1),
  });
  const late = await runCall(tool, false);
  expect(await runCall(tool, false, 2)).toMatchObject({ result: late.result });
  expect(executions).toBe(1);
});

describe('a call that has cost as many workers as it may', () => {
  let executions = 0;
  let probes = 0;
  const attempts = defaultLimits.maxLostWorkers + 1;
  const tool = (effect: 'read' | 'keyed' | 'reconcilable'): Tool =>
    defineTool({
      ...base,
      name: 'crash',
      effect,
      execute: () => {
        executions += 1;
        return 'it lives';
      },
      ...(effect === 'reconcilable'
        ? {
            probe: () => {
              probes += 1;
              return Promise.resolve({ type: 'not-applied' as const });
            },
          }
        : {}),
    });
  beforeEach(() => {
    executions = 0;
    probes = 0;
  });

  test('is not run again, and the model hears why', async () => {
    const { error } = await runCall(tool('read'), false, attempts);
    expect(error).toMatchObject({ code: 'tool_execution_failed', recoverable: true });
    expect(error?.message).toMatch(/^25 workers were lost while .* not run again; nothing was/);
    expect(executions).toBe(0);
  });

  test('leaves its outcome unknown where it may have taken effect', async () => {
    const result = await runCall(tool('keyed'), true, attempts);
    expect(result).toMatchObject({ isOutcomeUnknown: true, error: { code: 'outcome_unknown' } });
    expect(result.error?.message).toContain('25 workers were lost');
    expect(executions).toBe(0);
  });

  test('is probed once more, in case its effect is known', async () => {
    const { error } = await runCall(tool('reconcilable'), true, attempts);
    expect(error).toMatchObject({ code: 'tool_execution_failed' });
    expect(error?.message).toContain('did not take effect');
    expect(probes).toBe(1);
  });

  test('is not probed for ever', async () => {
    const again = await runCall(tool('reconcilable'), true, attempts + 1);
    expect(again).toMatchObject({ isOutcomeUnknown: true });
    expect({ probes, executions }).toEqual({ probes: 0, executions: 0 });
  });

  test.each<[string, Tool, number, CallBeat | undefined]>([
    ['that were fewer', tool('read'), attempts - 1, undefined],
    ['of which one only shut down', tool('read'), attempts, { progress: '', endedAttempts: 1 }],
    ['that never began it', tool('keyed'), attempts, undefined],
  ])('%s is run', async (_which, called, attempt, beat) => {
    expect(await runCall(called, false, attempt, beat)).toMatchObject({ preview: 'it lives' });
  });
});

test('an output that is too long to be kept whole keeps head and tail, and says what is lost', async () => {
  const line = 'one line of output\n';
  const text = line.repeat(Math.ceil(keptOutputChars / line.length) + 1_000_000);
  const bounded = await outputText(text);
  expect(bounded.length).toBeLessThan(keptOutputChars + 100);
  const [, head = '', leftOut, tail = ''] =
    /^([^]*)\n\[… (\d+) characters left out: too long to be kept whole …\]\n([^]*)$/.exec(
      bounded,
    ) ?? [];
  expect(head.length + Number(leftOut) + tail.length).toBe(text.length);
  expect(head.endsWith(line.trimEnd())).toBe(true);
  expect(tail.startsWith(line)).toBe(true);
  const short = text.slice(0, keptOutputChars);
  expect(await outputText(short)).toBe(short);
});

test('the model hears how to read the rest of a long output', async () => {
  const call = { name: 'blow', toolCallId: 'call' };
  const text = 'some lines\n'.repeat(3_000);
  expect((await showOutput(stored.store, call, {}, text)).content).toMatch(
    /The stored output has 33000 bytes\. Read on with read_output, ref "/,
  );
});

test('a result reports what the whole output names, and nothing if the call failed', async () => {
  const search = (lines: number): Tool =>
    defineTool({
      ...base,
      name: 'search',
      effect: 'read',
      execute: () =>
        Array.from(
          { length: lines },
          (_, at) =>
            `packages/agent-core/src/executor/progress-tracker-${at}.ts:${at}: class P${at}`,
        ).join('\n'),
    });
  for (const lines of [1, 13, 400]) {
    const { preview, findings } = await runCall(search(lines), false);
    expect(preview.length).toBeLessThanOrEqual(200);
    expect(findings?.paths).toHaveLength(Math.min(lines, 48));
    expect(findings?.paths.at(-1)).toEqual({
      path: `packages/agent-core/src/executor/progress-tracker-${Math.min(lines, 48) - 1}.ts`,
      line: Math.min(lines, 48),
    });
  }
  const failed = await runCall(
    defineTool({
      ...base,
      name: 'fail',
      effect: 'read',
      execute: () => {
        throw new ToolError('no', { output: 'src/a.ts:1: x' });
      },
    }),
    false,
  );
  expect(failed.findings).toBeUndefined();
});
