/** The scorecard's section of encryption: whole runs, with another key from the middle on. */
import { scoreEncryption } from '../../bench/scorecard/encryption/score-encryption';

test('no byte of history, lists, store or server shows a planted word, and a rotation in mid-run loses nothing', async () => {
  const { rows, summary } = await scoreEncryption();
  expect(rows.flatMap(({ wrong }) => wrong ?? [])).toEqual([]);
  expect(summary).toEqual({ planted: 15, found: 0 });
});
