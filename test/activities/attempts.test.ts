/** Attempts of one call in one process: how many were lost, and which of them runs (ADR 0031, ADR 0051). */
import { ActivityCancellationDetails } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { AttemptStop } from '../../activities/tool-call/attempts';
import { afterEarlierAttempt, countedAttempt } from '../../activities/tool-call/attempts';

/** Counts the attempts before one with these heartbeat details. */
function counted(attempt: number, heartbeatDetails: unknown): Promise<readonly unknown[]> {
  return new MockActivityEnvironment({ attempt, heartbeatDetails }).run(() => {
    const { lostWorkers, beat } = countedAttempt();
    return Promise.resolve([lostWorkers, beat('half')]);
  });
}

describe('lost workers', () => {
  test.each<[string, number, unknown, number, number]>([
    ['none before the first attempt', 1, undefined, 0, 0],
    ['all that left no word', 3, undefined, 2, 0],
    ['all but those that ended by themselves', 5, { endedAttempts: 3 }, 1, 3],
    ['none, if more are said to have ended', 2, { endedAttempts: 3 }, 0, 3],
    ['all, beside details of another kind', 3, 'progress', 2, 0],
    ['all, beside no details', 3, null, 2, 0],
    ['all, beside details without a number', 3, { progress: 'x' }, 2, 0],
    ['all, beside a number that is none', 3, { endedAttempts: '1' }, 2, 0],
  ])('are %s', async (_which, attempt, details, lost, endedAttempts) => {
    expect(await counted(attempt, details)).toEqual([lost, { progress: 'half', endedAttempts }]);
  });

  test('do not include an attempt that says that it ends', async () => {
    const environment = new MockActivityEnvironment({ heartbeatDetails: { endedAttempts: 1 } });
    const beats: unknown[] = [];
    environment.on('heartbeat', (beat: unknown) => beats.push(beat));
    const run = (work: () => Promise<string>): Promise<string> =>
      environment.run(() => countedAttempt().reportingEnd(work));
    expect(await run(() => Promise.resolve('done'))).toBe('done');
    expect(beats).toEqual([]);
    await expect(run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(beats).toEqual([{ progress: '', endedAttempts: 2 }]);
  });
});

/** Work that ends when told to, and what it was given. */
function workInHand() {
  let end: (result: string) => void = () => undefined;
  let fail: (reason: Error) => void = () => undefined;
  const ended = new Promise<string>((resolve, reject) => {
    [end, fail] = [resolve, reject];
  });
  const given: AttemptStop[] = [];
  return {
    given,
    work: (stop: AttemptStop): Promise<string> => {
      given.push(stop);
      return ended;
    },
    end: (result: string) => {
      end(result);
    },
    fail: () => {
      fail(new Error('no'));
    },
  };
}

let keys = 0;
let key: string;
beforeEach(() => {
  key = `attempts ${(keys += 1)}`;
});

const attemptOf = (
  work: (stop: AttemptStop) => Promise<string>,
  attempt = 1,
  environment = new MockActivityEnvironment({ attempt }),
): Promise<string> => environment.run(() => afterEarlierAttempt(key, attempt, work));

const result = (text: string) => () => Promise.resolve(text);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('an attempt after one that has ended', () => {
  test('takes its result, and a call that begins anew does not', async () => {
    expect(await attemptOf(result('first'))).toBe('first');
    expect(await attemptOf(result('second'), 2)).toBe('first');
    expect(await attemptOf(result('anew'))).toBe('anew');
    expect(await attemptOf(result('second'), 2)).toBe('anew');
  });

  test('takes its result also as the first one, if that one was stopped', async () => {
    const environment = new MockActivityEnvironment({ isLocal: true });
    const slow = workInHand();
    const stopped = attemptOf(slow.work, 1, environment);
    await turn();
    environment.cancel('TIMED_OUT', new ActivityCancellationDetails({ timedOut: true }));
    slow.end('late');
    expect(await stopped).toBe('late');
    expect(await attemptOf(result('ordinary'))).toBe('late');
  });

  test('runs if that one failed', async () => {
    await expect(attemptOf(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await attemptOf(result('second'), 2)).toBe('second');
  });

  test('finds the results of the last 500 calls', async () => {
    const first = key;
    for (let n = 0; n < 500; n += 1) {
      await attemptOf(result('kept'));
      key = `${first} ${n}`;
    }
    const again = async (name: string): Promise<string> => {
      key = name;
      return attemptOf(result('again'), 2);
    };
    expect(await again(first)).toBe('kept');
    key = `${first} more`;
    await attemptOf(result('kept'));
    expect(await again(first)).toBe('again');
    expect(await again(`${first} 1`)).toBe('kept');
  });
});

describe('an attempt beside one that still runs', () => {
  test('takes its result', async () => {
    const slow = workInHand();
    const first = attemptOf(slow.work);
    const second = attemptOf(result('second'), 2);
    await turn();
    slow.end('first');
    expect(await Promise.all([first, second])).toEqual(['first', 'first']);
  });

  test('runs after it has failed, and others wait for the last one', async () => {
    const [slow, next] = [workInHand(), workInHand()];
    const first = attemptOf(slow.work);
    const second = attemptOf(next.work, 2);
    await turn();
    expect(next.given).toEqual([]);
    slow.fail();
    await expect(first).rejects.toThrow('no');
    await turn();
    expect(next.given).toHaveLength(1);
    const third = attemptOf(result('third'), 3);
    await turn();
    next.end('second');
    expect(await Promise.all([second, third])).toEqual(['second', 'second']);
  });

  test('stops it when it is stopped itself, with the same reason', async () => {
    const slow = workInHand();
    const first = attemptOf(slow.work);
    const environment = new MockActivityEnvironment({ attempt: 2 });
    const second = attemptOf(result('second'), 2, environment);
    await turn();
    environment.cancel('CANCELLED', new ActivityCancellationDetails({ cancelRequested: true }));
    const { stopped } = slow.given[0] ?? {};
    expect(stopped?.aborted).toBe(true);
    expect(String(stopped?.reason)).toContain('CANCELLED');
    slow.end('first');
    expect(await Promise.all([first, second])).toEqual(['first', 'first']);
  });
});

describe('an attempt that is cancelled', () => {
  async function cancelled(
    details: ConstructorParameters<typeof ActivityCancellationDetails>[0],
    info: object = {},
    owns?: () => Promise<boolean>,
  ): Promise<boolean> {
    const environment = new MockActivityEnvironment(info);
    const slow = workInHand();
    const run = attemptOf(slow.work, 1, environment);
    await turn();
    const [given] = slow.given;
    if (owns !== undefined) given?.ownedWhile(owns);
    environment.cancel('CANCELLED', new ActivityCancellationDetails(details));
    for (let n = 0; n < 10; n += 1) await turn();
    const isStopped = given?.stopped.aborted === true;
    slow.end('done');
    await run;
    return isStopped;
  }
  const no = (): Promise<boolean> => Promise.resolve(false);

  test.each([
    ['by people', { cancelRequested: true }, {}, undefined, true],
    ['by a shutdown of its worker', { workerShutdown: true }, {}, undefined, true],
    ['as one that the server does not know', { notFound: true }, {}, undefined, false],
    ['as one that is too late', { timedOut: true }, {}, undefined, false],
    ['as a local one that is too late', { timedOut: true }, { isLocal: true }, undefined, true],
    ['as one that another worker has', { notFound: true }, {}, no, true],
    [
      'while nobody can say who has it',
      { notFound: true },
      {},
      () => Promise.reject(new Error('store')),
      false,
    ],
  ])('%s is stopped at once or not: %#', async (_how, details, info, owns, isStopped) => {
    expect(await cancelled(details, info, owns)).toBe(isStopped);
  });

  test('before it begins is stopped from its start', async () => {
    const environment = new MockActivityEnvironment();
    const slow = workInHand();
    const run = environment.run(() => {
      environment.cancel('CANCELLED', new ActivityCancellationDetails({ cancelRequested: true }));
      return afterEarlierAttempt(key, 1, slow.work);
    });
    await turn();
    expect(slow.given[0]?.stopped.aborted).toBe(true);
    slow.end('done');
    expect(await run).toBe('done');
  });
});
