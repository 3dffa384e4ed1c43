/** What a text of JSON names. */
import { valuesIn } from '../../workflows/core/context/content-references';

test('a key is found as it is, whatever characters it has', () => {
  const runKey = 'fix "a" in C:\\shop\\ä/first';
  const text = JSON.stringify({ input: { origins: [{ runKey, treeKey: 'tree/first' }] } });
  expect(valuesIn(text, 'runKey|treeKey')).toEqual([runKey, 'tree/first']);
});

test('what only looks like JSON names nothing', () => {
  expect(valuesIn('"runKey":"a\\x" and "runKey":"open', 'runKey')).toEqual([]);
  expect(valuesIn(JSON.stringify({ text: '{"runKey":"said/first"}' }), 'runKey')).toEqual([]);
});
