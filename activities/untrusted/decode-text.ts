/** Reads bytes as text in the encoding that they are in, and writes text back in it. */

/** An encoding that is told from the bytes alone. */
type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be';

/** Bytes as text. */
export interface DecodedText {
  /** Without the byte order mark. */
  readonly text: string;
  readonly encoding: TextEncoding;
  readonly hasBom: boolean;
}

/** Byte order marks, the longer ones first: that of UTF-32 begins like that of UTF-16. */
const marks: readonly (readonly [TextEncoding, readonly number[]])[] = [
  ['utf-32le', [0xff, 0xfe, 0, 0]],
  ['utf-32be', [0, 0, 0xfe, 0xff]],
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** Bytes that are looked at for a NUL, which marks binary data, as in git. */
const sniffedBytes = 8_000;

/** Share of the units of UTF-16 whose upper byte is 0 in a text that is mostly Latin. */
const latinShare = 0.7;

/** Characters of no text: small numbers of 16 bits look like them. */
// eslint-disable-next-line no-control-regex -- what tells data from text
const controls = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

/** UTF-16 without a mark: Latin letters have a NUL in every second byte, and none in the others. */
function unmarkedUtf16(bytes: Buffer): TextEncoding | undefined {
  const head = bytes.subarray(0, sniffedBytes);
  const units = Math.floor(head.length / 2);
  let even = 0;
  let odd = 0;
  for (let at = 0; at < units * 2; at += 2) {
    if (head[at] === 0) even += 1;
    if (head[at + 1] === 0) odd += 1;
  }
  if (units < 2 || bytes.length % 2 !== 0) return undefined;
  if (even === 0 && odd >= units * latinShare) return 'utf-16le';
  return odd === 0 && even >= units * latinShare ? 'utf-16be' : undefined;
}

/** The encoding of a text, by its mark or else its NULs; undefined for what may be binary. */
function encodingOf(bytes: Buffer): Pick<DecodedText, 'encoding' | 'hasBom'> | undefined {
  const marked = marks.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte));
  if (marked !== undefined) return { encoding: marked[0], hasBom: true };
  if (!bytes.subarray(0, sniffedBytes).includes(0)) return { encoding: 'utf-8', hasBom: false };
  const encoding = unmarkedUtf16(bytes);
  return encoding && { encoding, hasBom: false };
}

function utf32Text(bytes: Buffer, isLittle: boolean): string {
  const points: string[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const point = isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    if (point > 0x10ffff) throw new TypeError('not UTF-32');
    points.push(String.fromCodePoint(point));
  }
  return points.join('');
}

function textIn(bytes: Buffer, encoding: TextEncoding, fatal: boolean): string {
  if (encoding === 'utf-32le' || encoding === 'utf-32be')
    return utf32Text(bytes, encoding === 'utf-32le').replace(/^\ufeff/, '');
  return new TextDecoder(encoding, { fatal }).decode(bytes);
}

/**
 * The text of some bytes: UTF-8, or UTF-16 or UTF-32 as their mark or their NULs say.
 *
 * Contract: never throws. Undefined for anything else: binary data, and older encodings, which nothing in the bytes tells apart.
 */
export function decodeText(bytes: Buffer): DecodedText | undefined {
  const found = encodingOf(bytes);
  if (found === undefined) return undefined;
  try {
    const text = textIn(bytes, found.encoding, true);
    const isGuess = found.encoding !== 'utf-8' && !found.hasBom;
    return isGuess && controls.test(text) ? undefined : { ...found, text };
  } catch {
    return undefined;
  }
}

/** What stands for bytes that are no text. */
export function binaryNote(byteLength: number): string {
  return `[${byteLength} bytes of binary data]`;
}

/** Whether the bytes hold a NUL where a text has none. */
export function looksBinary(bytes: Buffer): boolean {
  return encodingOf(bytes) === undefined;
}

/**
 * The text of what a program or a server gave, which is shown in any case: bytes that are not of its encoding become U+FFFD.
 *
 * Contract: never throws; a note at the end says how many there were, and what to do.
 */
export function decodeOutput(bytes: Buffer): string {
  const whole = decodeText(bytes);
  if (whole !== undefined) return whole.text;
  const { encoding = 'utf-8' } = encodingOf(bytes) ?? {};
  const text = encoding.startsWith('utf-32') ? bytes.toString() : textIn(bytes, encoding, false);
  const unreadable = text.split('\ufffd').length - 1;
  return unreadable === 0
    ? text
    : `${text}\n[${unreadable} characters of this are not UTF-8 and are shown as \ufffd: it is binary, or in an older encoding such as Windows-1252, GBK or Shift_JIS. Let the program write UTF-8, or convert its output with iconv.]`;
}

/** A later part of an output, which begins `offset` bytes behind its beginning, in the encoding of that. */
export function decodeLike(beginning: Buffer, part: Buffer, offset: number): string {
  const { encoding = 'utf-8' } = encodingOf(beginning) ?? {};
  const unitBytes = encoding === 'utf-8' ? 1 : encoding.startsWith('utf-16') ? 2 : 4;
  const whole = part.subarray((unitBytes - (offset % unitBytes)) % unitBytes);
  return unitBytes === 4
    ? utf32Text(whole, encoding === 'utf-32le')
    : textIn(whole, encoding, false);
}

/** The bytes of a text in an encoding. */
export function encodeText(text: string, { encoding, hasBom }: Omit<DecodedText, 'text'>): Buffer {
  const marked = hasBom ? `\ufeff${text}` : text;
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(marked);
    case 'utf-16le':
      return Buffer.from(marked, 'utf16le');
    case 'utf-16be':
      return Buffer.from(marked, 'utf16le').swap16();
    case 'utf-32le':
    case 'utf-32be': {
      const points = Array.from(marked, (char) => char.codePointAt(0) ?? 0);
      const bytes = Buffer.alloc(points.length * 4);
      points.forEach((point, index) =>
        encoding === 'utf-32le'
          ? bytes.writeUInt32LE(point, index * 4)
          : bytes.writeUInt32BE(point, index * 4),
      );
      return bytes;
    }
  }
}
