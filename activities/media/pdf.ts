/** What vendors ask of a PDF: that it is one, is not encrypted, and how many pages it has. */
import { inflateSync } from 'node:zlib';

/** Bytes in which a PDF says what it is (ISO 32000-1, implementation note 13). */
const headBytes = 1_024;

/** Object streams that are read, and bytes that they may have together: pages of newer PDFs are in them. */
const mostStreams = 2_000;
const mostInflatedBytes = 64 * 1024 * 1024;

/** True for a PDF, perhaps with something before it. */
export function isPdf(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, headBytes).includes('%PDF-');
}

/** True if it needs a password or has one: vendors take no such document. */
export function isEncrypted(bytes: Buffer): boolean {
  return /\/Encrypt[ \r\n]{1,4}\d{1,9} \d{1,5} R/.test(bytes.toString('latin1'));
}

const pageObject = /\/Type[ \r\n]{0,4}\/Page(?![a-zA-Z])/g;

function pagesIn(text: string): number {
  return text.match(pageObject)?.length ?? 0;
}

/** The object streams of a PDF, decompressed as far as they can be. */
function* objectStreams(bytes: Buffer, text: string): Generator<string> {
  let room = mostInflatedBytes;
  let at = 0;
  for (let count = 0; count < mostStreams && room > 0; count += 1) {
    at = text.indexOf('/ObjStm', at);
    const begin = at < 0 ? -1 : text.indexOf('stream', at + 7);
    if (begin < 0) return;
    const start = begin + (text.startsWith('\r\n', begin + 6) ? 8 : 7);
    const end = text.indexOf('endstream', start);
    if (end < 0) return;
    at = end;
    try {
      const inflated = inflateSync(bytes.subarray(start, end), { maxOutputLength: room });
      room -= inflated.length;
      yield inflated.toString('latin1');
    } catch {
      // Damaged, or compressed otherwise: its pages are not counted.
    }
  }
}

/** Bytes of a page where no page can be counted: less than most have, so that rather too many are assumed. */
const pageBytes = 50_000;

/**
 * Pages of a PDF, nearly: what was replaced by a later version of the document is counted too.
 *
 * Contract: never throws; at least 1; time and memory in proportion to the bytes.
 */
export function pdfPages(bytes: Buffer): number {
  const text = bytes.toString('latin1');
  let pages = pagesIn(text);
  for (const stream of objectStreams(bytes, text)) pages += pagesIn(stream);
  return pages > 0 ? pages : Math.ceil(bytes.length / pageBytes);
}
