/** Keeps a program's output: on disk up to a limit, and always the end of it in memory. */
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes of the end that are kept if the output is longer than the limit. */
const tailBytes = 64 * 1024;

/** Output of a program that is still running. */
export interface OutputSpool {
  /** Takes bytes; resolves when it can take more. */
  write(bytes: Buffer): Promise<void>;
  /** The kept output, with a note of what was dropped. */
  text(): Promise<string>;
  /** The end, for people and for errors. */
  tail(chars: number): string;
  close(): Promise<void>;
}

/** Opens a spool that keeps `limitBytes` on disk. */
export async function openSpool(limitBytes: number): Promise<OutputSpool> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-output-'));
  const path = join(folder, 'output');
  const handle = await open(path, 'wx', 0o600);
  let keptBytes = 0;
  let totalBytes = 0;
  let tail = Buffer.alloc(0);
  let last: Promise<void> = Promise.resolve();
  const append = async (bytes: Buffer): Promise<void> => {
    const room = Math.max(0, limitBytes - keptBytes);
    const part = bytes.subarray(0, room);
    keptBytes += part.length;
    if (part.length > 0) {
      await handle.writeFile(part);
    }
  };
  return {
    write: (bytes) => {
      totalBytes += bytes.length;
      tail = Buffer.concat([tail, bytes.subarray(-tailBytes)]).subarray(-tailBytes);
      last = last.then(() => append(bytes));
      return last;
    },
    text: async () => {
      await last;
      const kept = await readFile(path, 'utf8');
      const beyond = totalBytes - keptBytes;
      if (beyond === 0) {
        return kept;
      }
      const end = tail.subarray(-Math.min(beyond, tailBytes));
      const lost = beyond - end.length;
      return `${kept}\n[… ${lost} bytes left out: more than ${limitBytes} bytes …]\n${end.toString('utf8')}`;
    },
    tail: (chars) => tail.toString('utf8').slice(-chars),
    close: async () => {
      await last.catch(() => undefined);
      await handle.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
