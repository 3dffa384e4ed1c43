/** A worker that starts before its store or Temporal: it waits, says for what, and has a limit. */
import { NotReadyError, waitUntilReady } from '../../workers/cli/wait-until-ready';
import { ClientError } from '../../client/client-error';
import { SetupError, UnreachableError } from '../../workers/setup-error';

const storeDown = new UnreachableError('The store does not answer.');
const temporalDown = new UnreachableError('Temporal does not answer.');
/** As commands say it that only need Temporal. */
const wrapped = new ClientError('unreachable', 'x', { cause: temporalDown });

/** Fails with each of these in turn, then opens. */
function opening(failures: readonly Error[]): () => Promise<string> {
  const left = [...failures];
  return () => {
    const next = left.shift();
    return next === undefined ? Promise.resolve('open') : Promise.reject(next);
  };
}

test('waits for the one and then for the other, and says each once', async () => {
  const notes: string[] = [];
  const open = opening([storeDown, wrapped, temporalDown]);
  expect(await waitUntilReady(open, 60_000, (line) => notes.push(line))).toBe('open');
  expect(notes).toEqual([
    expect.stringMatching(/^holdfast: waiting up to \d+ s\. The store does not answer\.$/),
    expect.stringMatching(/^holdfast: waiting up to \d+ s\. Temporal does not answer\.$/),
  ]);
});

test('throws past the limit, and anything else at once', async () => {
  const endless = () => Promise.reject(storeDown);
  await expect(waitUntilReady(endless, 50, () => undefined)).rejects.toThrow(NotReadyError);
  const wrong = new SetupError('HOLDFAST_STORE is wrong');
  const notes: string[] = [];
  const failing = waitUntilReady(opening([wrong]), 60_000, (line) => notes.push(line));
  await expect(failing).rejects.toBe(wrong);
  expect(notes).toEqual([]);
});
