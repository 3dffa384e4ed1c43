/** Text of a file as the model sees it, and back to the bytes that the file keeps: BOM, line ends, encoding. */
import { ToolError } from '../tool-error';
import { openFile } from './workspace-root';
import type { Place } from './workspace-root';

/** Bytes of a file that tools read whole. */
export const maxFileBytes = 10 * 1024 * 1024;

/** A text file's content. */
export interface TextFile {
  /** Without BOM, line ends as in the file. */
  readonly text: string;
  readonly hasBom: boolean;
  /** The line end that the file uses most. */
  readonly lineEnd: '\n' | '\r\n';
  /** Permission bits. */
  readonly mode: number;
  /** Changes whenever the file does. */
  readonly version: string;
}

/** Bytes looked at to tell text from binary, as git does. */
const sniffedBytes = 8_000;

/** True if bytes are no text: a NUL near the start. */
function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, sniffedBytes).includes(0);
}

function decode(path: string, bytes: Buffer): string {
  const isUtf16 = bytes.length >= 2 && [0xfeff, 0xfffe].includes(bytes.readUInt16BE(0));
  if (isUtf16 || isBinary(bytes)) {
    throw new ToolError(
      `"${path}" is ${isUtf16 ? 'UTF-16 text' : 'a binary file'} (${bytes.length} bytes), not UTF-8 text`,
      { hint: 'Only UTF-8 text files can be read and edited.' },
    );
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolError(`"${path}" is not UTF-8 text (${bytes.length} bytes)`, {
      hint: 'Only UTF-8 text files can be read and edited.',
    });
  }
}

function mostUsedLineEnd(text: string): '\n' | '\r\n' {
  const pairs = text.match(/\r\n/g)?.length ?? 0;
  const all = text.match(/\n/g)?.length ?? 0;
  return pairs * 2 > all ? '\r\n' : '\n';
}

/**
 * Reads a text file.
 *
 * Errors: `ToolError` for binary, not UTF-8, too large, no regular file; system errors as they are.
 */
export async function readTextFile(place: Place, limitBytes = maxFileBytes): Promise<TextFile> {
  const { handle, stats } = await openFile(place);
  try {
    if (stats.size > limitBytes) {
      throw new ToolError(
        `"${place.path}" has ${stats.size} bytes; files up to ${limitBytes} bytes can be read`,
        { hint: 'Use search_files to find the part that you need.' },
      );
    }
    const bytes = await handle.readFile();
    const decoded = decode(place.path, bytes);
    const hasBom = decoded.startsWith('\ufeff');
    const text = hasBom ? decoded.slice(1) : decoded;
    return {
      text,
      hasBom,
      lineEnd: mostUsedLineEnd(text),
      mode: stats.mode & 0o7777,
      version: [stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(),
    };
  } finally {
    await handle.close();
  }
}
