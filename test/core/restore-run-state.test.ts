/** A state is taken over only by a release that can read it. */
import { restoreRunState } from '../../workflows/core/run/restore';
import { aPreparedRun } from '../support/builders';

test('gives back what JSON carried', () => {
  const state = aPreparedRun();
  expect(restoreRunState(JSON.parse(JSON.stringify(state)))).toStrictEqual(state);
});

test.each([null, 'x', [], {}, { ...aPreparedRun(), schemaVersion: 2 }])('refuses %j', (value) => {
  expect(() => restoreRunState(value)).toThrow(/invariant/);
});
