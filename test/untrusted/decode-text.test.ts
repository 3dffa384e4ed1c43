/**
 * Encodings are read by what the bytes say, or named (ADR 0044). Inputs from openclaw/openclaw#133129 (PowerShell's Out-File),
 * wonderwhy-er/DesktopCommanderMCP#610, mpfaffenberger/code_puppy#778, lidge-jun/cli-jaw#302 (CP949),
 * openwall/john#2802, PowerShell/PowerShell#8636 (a mark before UTF-8).
 */
import {
  decodeLike,
  decodeOutput,
  decodeText,
  encodeText,
} from '../../activities/untrusted/decode-text';

test.each<readonly [string, number[], string]>([
  ['openclaw#133129', [0xff, 0xfe, 0x68, 0, 0x69, 0, 0x0a, 0], 'hi\n'],
  ['UTF-16 of the other order', [0xfe, 0xff, 0, 0x68, 0, 0x69], 'hi'],
  ['UTF-8 with a mark', [0xef, 0xbb, 0xbf, 0x68, 0x69], 'hi'],
  ['UTF-16 without a mark', [0x68, 0, 0x69, 0, 0x0d, 0, 0x0a, 0], 'hi\r\n'],
  ['the other order without a mark', [0, 0x68, 0, 0x69], 'hi'],
  ['UTF-32', [0xff, 0xfe, 0, 0, 0x68, 0, 0, 0], 'h'],
  ['nothing', [], ''],
])('reads %s', (_what, bytes, text) => {
  expect(decodeText(Buffer.from(bytes))?.text).toBe(text);
  expect(decodeOutput(Buffer.from(bytes))).toBe(text);
});

test.each<readonly [string, number[]]>([
  ['CP949 (cli-jaw#302)', [0xc7, 0xd1, 0xb1, 0xdb]],
  ['Windows-1252', [0x63, 0x61, 0x66, 0xe9]],
  ['Shift_JIS', [0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea]],
])('says of %s that it is none of them, instead of garbling it silently', (_what, bytes) => {
  expect(decodeText(Buffer.from(bytes))).toBeUndefined();
  expect(decodeOutput(Buffer.from(bytes))).toMatch(/not UTF-8.*Windows-1252.*iconv/s);
});

test.each([
  ['a program', [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0]],
  ['a NUL in a text', [0x61, 0, 0x62, 0x63]],
  ['small numbers', [1, 0, 2, 0, 3, 0, 4, 0]],
  ['half a unit', [0xff, 0xfe, 0x68]],
])('takes %s for no text', (_what, bytes) => {
  expect(decodeText(Buffer.from(bytes))).toBeUndefined();
});

test.each(['utf-8', 'utf-16le', 'utf-16be', 'utf-32le', 'utf-32be'] as const)(
  'writes %s back as it was, with its mark',
  (encoding) => {
    const bytes = encodeText('größer 🎉', { encoding, hasBom: true });
    expect(decodeText(bytes)).toEqual({ text: 'größer 🎉', encoding, hasBom: true });
  },
);

test('the end of a long output is read in the encoding of its beginning, whole units only', () => {
  const all = encodeText('one two three', { encoding: 'utf-16le', hasBom: true });
  expect(decodeLike(all, all.subarray(11), 11)).toBe('wo three');
});
