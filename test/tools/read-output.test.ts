/** Stored output is read on in parts that begin at a line. */
import { findingsOf } from '../../activities/tool-output/findings';
import { readOutput } from '../../activities/tools/read-output';
import { callTool, toolContext, toolErrorOf } from './tool-context';

const ref = 'a'.repeat(43);
const contextWith = (whole: string) =>
  toolContext({
    readBlob: (_hash, offset, length) => {
      const bytes = Buffer.from(whole);
      return Promise.resolve({
        text: bytes.subarray(offset, offset + length).toString('utf8'),
        totalBytes: bytes.length,
      });
    },
  });

test('reads a part and says how to read on', async () => {
  const text = await callTool(readOutput, { ref, length: 10 }, contextWith('0123456789abcdef'));
  expect(text).toBe('Bytes 0-10 of 16:\n0123456789\n[… read on with offset 10]');
});

test('begins at the start of the line, so that no secret is read without its beginning', async () => {
  const whole = 'first line\nAPI_KEY=sk-ant-abcdefgh12345678\nlast\n';
  const offset = whole.indexOf('abcdefgh');
  const text = await callTool(readOutput, { ref, offset }, contextWith(whole));
  expect(text).toContain('\nAPI_KEY=sk-ant-abcdefgh12345678\nlast');
  expect(text).not.toContain('first line');
});

test('says when it begins in the middle of a long line, so the rest of a name does not pass for a name', async () => {
  const whole = JSON.stringify(
    Array.from({ length: 999 }, (_each, at) => `src/folder/file${at}.ts`),
  );
  for (const offset of [4_100, 5_003, 9_999]) {
    const text = await callTool(readOutput, { ref, offset, length: 500 }, contextWith(whole));
    expect(text).toContain('[… in the middle of a line]\n');
    const found = findingsOf(text, text, undefined)?.paths ?? [];
    expect(found.filter(({ path }) => !whole.includes(`"${path}"`))).toEqual([]);
  }
  const start = await callTool(readOutput, { ref, offset: 9, length: 500 }, contextWith(whole));
  expect(start).not.toContain('in the middle');
});

test('refuses an offset beyond the end and a ref that is none', async () => {
  const beyond = await toolErrorOf(callTool(readOutput, { ref, offset: 99 }, contextWith('abc')));
  expect(beyond.message).toContain('3 bytes');
  const wrong = await toolErrorOf(callTool(readOutput, { ref: '../x' }, contextWith('abc')));
  expect(wrong.message).toContain('copy it from the shortened output');
});
