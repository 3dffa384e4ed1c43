/** The log: one JSON object a line, without secrets, with the SDK's metadata. */
import { createLogger, TemporalLogger } from '../../workers/logging';

function capture(level: 'info' | 'debug' = 'info'): {
  readonly lines: () => Record<string, unknown>[];
  readonly logger: ReturnType<typeof createLogger>;
} {
  const texts: string[] = [];
  const logger = createLogger(level, { write: (text) => texts.push(text) });
  return {
    lines: () => texts.map((text) => JSON.parse(text) as Record<string, unknown>),
    logger,
  };
}

it('keeps secrets out, wherever they stand', () => {
  const { lines, logger } = capture();
  const key = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789';
  logger.info({ url: 'postgres://me:hunter2secret@db/x', nested: { note: key } }, `used ${key}`);
  const text = JSON.stringify(lines());
  expect(text).not.toContain('hunter2secret');
  expect(text).not.toContain(key);
  expect(lines()[0]?.['msg']).toBe('used [redacted]');
});

it('finds a secret that colors or hidden characters split, and lets none of those through', () => {
  const { lines, logger } = capture();
  logger.info({ note: 'ghp_\u001b[31maB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9\u001b[0m' }, 'a\u202eb');
  expect(lines()[0]).toMatchObject({ note: '[redacted]', msg: 'ab' });
});

it("reads nothing of the SDK's messages below the level", () => {
  const { lines, logger } = capture();
  const state = jest.fn();
  new TemporalLogger(logger).debug(
    'not shown',
    Object.defineProperty({}, 'state', { get: state, enumerable: true }),
  );
  expect(state).not.toHaveBeenCalled();
  expect(lines()).toEqual([]);
});

it("writes the SDK's messages with their level and metadata", () => {
  const { lines, logger } = capture();
  const sdk = new TemporalLogger(logger);
  sdk.info('Worker state changed', { state: 'RUNNING', taskId: 7n });
  sdk.log('ERROR', 'Activity failed', { error: new Error('no such file') });
  sdk.debug('not shown at this level');
  expect(lines()).toEqual([
    expect.objectContaining({
      level: 30,
      msg: 'Worker state changed',
      state: 'RUNNING',
      taskId: '7',
    }),
    expect.objectContaining({
      level: 50,
      msg: 'Activity failed',
      err: expect.objectContaining({ message: 'no such file' }) as unknown,
    }),
  ]);
});
