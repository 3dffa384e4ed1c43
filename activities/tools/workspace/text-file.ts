/** Reads text files for the model, with what a later write must keep: encoding, BOM, line ends, permission bits. */
import { decodeText, looksBinary } from '../../untrusted/decode-text';
import type { DecodedText } from '../../untrusted/decode-text';
import { ToolError } from '../tool-error';
import { fileVersion, openFile } from './workspace-root';
import type { Place } from './workspace-root';

/** Bytes of a file that tools read whole. */
export const maxFileBytes = 10 * 1024 * 1024;

/** A text file's content, without BOM, line ends as in the file. */
export interface TextFile extends DecodedText {
  /** The line end that the file uses most. */
  readonly lineEnd: '\n' | '\r\n';
  /** Permission bits without setuid and setgid, which a plain write clears too. */
  readonly mode: number;
  /** Changes whenever the file does. */
  readonly version: string;
}

/** Permission bits that new content keeps. */
const keptBits = 0o777;

/** Least bytes of one read: Node's own chunk size for files. */
const minChunkBytes = 64 * 1024;

function decode(path: string, bytes: Buffer): DecodedText {
  const decoded = decodeText(bytes);
  if (decoded !== undefined) return decoded;
  const what = looksBinary(bytes)
    ? 'a binary file'
    : 'in an older encoding (such as Windows-1252, GBK or Shift_JIS)';
  throw new ToolError(`"${path}" is ${what}, not UTF-8 or UTF-16 text (${bytes.length} bytes)`, {
    hint: 'Only UTF-8 and UTF-16 text files can be read and edited. A program such as iconv can convert others.',
  });
}

function mostUsedLineEnd(text: string): '\n' | '\r\n' {
  const pairs = text.match(/\r\n/g)?.length ?? 0;
  const all = text.match(/\n/g)?.length ?? 0;
  return pairs * 2 > all ? '\r\n' : '\n';
}

/**
 * Reads a text file.
 *
 * Errors: `ToolError` for binary, of another encoding, too large, and anything but regular files; system errors as they are.
 */
export async function readTextFile(place: Place, limitBytes = maxFileBytes): Promise<TextFile> {
  const { handle, stats } = await openFile(place);
  try {
    const tooLarge = (size: number): ToolError =>
      new ToolError(
        `"${place.path}" has ${size} bytes; files up to ${limitBytes} bytes can be read or changed`,
        { hint: 'Use search_files to find the part that you need.' },
      );
    if (stats.size > limitBytes) throw tooLarge(stats.size);
    // A file may grow while it is read, or report no size: the size at the start alone is not a good chunk size.
    const highWaterMark = Math.max(stats.size + 1, minChunkBytes);
    const bounds = { end: limitBytes, autoClose: false, highWaterMark };
    const reading = handle.createReadStream({ start: 0, ...bounds });
    const bytes = Buffer.concat((await reading.toArray()) as Buffer[]);
    if (bytes.length > limitBytes) throw tooLarge(bytes.length);
    const decoded = decode(place.path, bytes);
    return {
      ...decoded,
      lineEnd: mostUsedLineEnd(decoded.text),
      mode: stats.mode & keptBits,
      version: fileVersion(stats),
    };
  } finally {
    await handle.close();
  }
}
