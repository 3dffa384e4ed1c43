/** What is cut is clean before: files by their lines, search hits, pieces of large outputs, ends of a program's output. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { OutputSpool } from '../../activities/tools/workspace/commands/output-spool';
import { readFile } from '../../activities/tools/workspace/read-file';
import { searchFiles } from '../../activities/tools/workspace/search-files';
import { cutMiddle, sanitizeWhole, visibleLines } from '../../activities/untrusted/sanitizer';
import { describeThrown } from '../../activities/tool-call/error-text';
import { callTool, makeWorkspace } from '../tools/tool-context';
import { fc } from '../support/properties';

const lines = (count: number): string =>
  Array.from({ length: count }, () => randomBytes(48).toString('base64')).join('\n');
const armored = (name: string, headers: string, count: number): string =>
  `-----BEGIN ${name}-----\n${headers}${lines(count)}\n-----END ${name}-----`;
const rsa = generateKeyPairSync('rsa', { modulusLength: 4096 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const value = 'Xk29vQpL7mNw4RtZ8sYb';

const keys: readonly (readonly [string, string])[] = [
  ['PKCS 8', rsa],
  ['PGP', armored('PGP PRIVATE KEY BLOCK', 'Version: GnuPG v2\n\n', 60)],
  [
    'encrypted',
    armored(
      'RSA PRIVATE KEY',
      'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n',
      40,
    ),
  ],
  [
    'PuTTY',
    `PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: x\nPublic-Lines: 6\n${lines(6)}\nPrivate-Lines: 14\n${lines(14)}\nPrivate-MAC: 0011aabb`,
  ],
  ['a name and its value', `- name: DB_PASSWORD\n  value: ${value}`],
];
/** Lines of a key, and values, that a text still holds. */
const leakedOf = (key: string, text: string): readonly string[] =>
  key.split('\n').filter((line) => /^\S{60,}$|Xk29/.test(line) && text.includes(line));

describe('pieces of a large output', () => {
  const piece = 128 * 1024;
  const filler = `${'x'.repeat(63)}\n`;

  test.each(keys)('%s across the end of a piece', async (_name, key) => {
    for (let shift = 0; shift <= key.length; shift += Math.ceil(key.length / 9)) {
      const before = filler.repeat(piece / 64).slice(shift + 1);
      const text = `${before}\n${key}\n${filler.repeat(700)}`;
      expect(leakedOf(key, await sanitizeWhole(text, {}))).toEqual([]);
    }
  });

  test('a text of keys alone, and one without any line end', async () => {
    const many = Array.from({ length: 60 }, () => armored('RSA PRIVATE KEY', '', 50)).join('\n');
    const clean = await sanitizeWhole(many, {});
    expect(leakedOf(many, clean)).toEqual([]);
    const flat = `{"a":"${`token=ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9, `.repeat(9_000)}"}`;
    expect(await sanitizeWhole(flat, {})).not.toContain('aB3dE6');
  });
});

test('a text keeps its lines, whatever is taken out of it', async () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('\n', '\r\n', '\r', '\u2028', '\u001b]0;a\nb\u0007', '\u200b', ...keys.flat()),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (parts) => {
      const text = parts.join('\n');
      expect(await visibleLines(text)).toHaveLength(text.split(/\r?\n/).length);
    }),
  );
});

describe('a file', () => {
  const text = `first\n${rsa}after the key\n`;
  const files = { 'k.pem': text, 'src/a.ts': 'one\ntoken = "x"\nneedle\n' };

  test('read from any line, in any number, gives no line of a key, and the numbers hold', async () => {
    const ws = makeWorkspace(files);
    const total = text.split('\n').length - 1;
    for (let start = 1; start <= total; start += 1) {
      for (const count of [1, 7, 2_000]) {
        const input = { path: 'k.pem', start_line: start, max_lines: count };
        const answer = await callTool(readFile, input, ws.context);
        expect(leakedOf(rsa, answer)).toEqual([]);
        const last = Math.min(total, start + count - 1);
        expect(answer.split('\n')[0]).toBe(`k.pem, lines ${start}-${last} of ${total}:`);
        if (last === total) expect(answer.split('\n').at(-1)).toBe('after the key');
      }
    }
    ws.remove();
  });

  test.each(keys)('%s, read from its second line or its middle', async (_name, key) => {
    const ws = makeWorkspace({ 'key.txt': `${key}\n` });
    for (const start of [2, Math.ceil(key.split('\n').length / 2)]) {
      const answer = await callTool(readFile, { path: 'key.txt', start_line: start }, ws.context);
      expect(leakedOf(key, answer)).toEqual([]);
    }
    ws.remove();
  });

  test('read in its middle, far behind other lines', async () => {
    const long = `${'line\n'.repeat(40_000)}${text}${'line\n'.repeat(40_000)}`;
    const ws = makeWorkspace({ 'long.txt': long });
    const input = { path: 'long.txt', start_line: 40_010, max_lines: 60 };
    const answer = await callTool(readFile, input, ws.context);
    expect(leakedOf(rsa, answer)).toEqual([]);
    const place = 40_000 + text.split('\n').length - 1;
    expect(answer.split('\n')[place - 40_010 + 1]).toBe('after the key');
    ws.remove();
  });

  test('searched by any pattern gives no line of a key, and tells nothing of it', async () => {
    const ws = makeWorkspace({ ...files, 'e.env': `API_KEY=${value}\n` });
    const search = (query: string, regex = true) =>
      callTool(searchFiles, { query, regex }, ws.context);
    expect(leakedOf(rsa, await search('.'))).toEqual([]);
    expect(await search('after|needle')).toMatch(/k\.pem:\d+: after the key\nsrc\/a\.ts:3: needle/);
    expect(await search('API_KEY=Xk29')).toBe('Nothing matches.');
    expect(await search(value, false)).toBe('Nothing matches.');
    const line = rsa.split('\n')[5] ?? '';
    expect(await search(line.slice(0, 20), false)).toBe('Nothing matches.');
    ws.remove();
  });
});

describe('the output of a program', () => {
  const token = 'ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9';

  test('leaves no half of a token at the place where it is cut', async () => {
    for (let shift = 0; shift < token.length; shift += 3) {
      const spool = new OutputSpool(1_000);
      const before = 'a\n'.repeat(600).slice(0, 1_000 - shift);
      spool.write(Buffer.from(`${before}${token} ${'b\n'.repeat(100_000)}`));
      expect(await spool.text()).not.toMatch(/aB3dE6|sT1vW4/);
      const late = new OutputSpool(1_000);
      late.write(Buffer.from(`${'a\n'.repeat(9_000)}${token}${'b'.repeat(64 * 1024 - shift)}`));
      expect(await late.text()).not.toMatch(/aB3dE6|sT1vW4/);
    }
  });

  test('is one text where nothing of it is lost', async () => {
    const spool = new OutputSpool(5);
    spool.write(Buffer.from('aé😀z'));
    expect(await spool.text()).toBe('aé😀z');
  });

  test('its end and the end of stderr begin with no half of a token', () => {
    const spool = new OutputSpool(1_000);
    spool.write(Buffer.from(`x ${token} ${'.'.repeat(60)}`));
    expect(spool.tail(80)).not.toContain('T1vW4');
    const failed = Object.assign(new Error('no'), { stderr: `x ${token} ${'.'.repeat(280)}` });
    expect(describeThrown(failed)).not.toContain('3dE6gH9');
  });
});

test('a very long text is cut at line ends', () => {
  expect(cutMiddle(`${'a\n'.repeat(300)}${value}${'b\n'.repeat(300)}`, 1_000)).not.toContain(value);
});
