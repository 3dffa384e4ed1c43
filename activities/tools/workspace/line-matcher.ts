/** Finds lines by regular expression; a pattern that never ends is stopped in its own thread. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ToolError } from '../tool-error';

/** Milliseconds that a regular expression may take for one file. */
const maxPatternMs = 2_000;

/** A line that matches. */
interface LineMatch {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** Finds matching lines of a text, at most `limit`. */
export interface LineMatcher {
  match(text: string, limit: number): Promise<readonly LineMatch[]>;
  close(): Promise<unknown>;
}

/** Characters of a line that are shown, round the match. */
const shownChars = 240;

function shownLine(line: string, at: number): string {
  const start = line.length <= shownChars ? 0 : Math.max(0, at - 80);
  const cut = line.slice(start, start + shownChars);
  return `${start > 0 ? '…' : ''}${cut}${start + shownChars < line.length ? '…' : ''}`;
}

/** Runs in the thread: plain JavaScript, since it is given as text. */
const threadSource = `
const { parentPort, workerData } = require('node:worker_threads');
const pattern = new RegExp(workerData.source, workerData.flags);
parentPort.on('message', ({ text, limit }) => {
  const found = [];
  for (const [index, given] of text.split(/\\r?\\n/).entries()) {
    const line = given.normalize('NFC');
    const match = pattern.exec(line);
    if (match !== null) found.push([index + 1, line, match.index]);
    if (found.length >= limit) break;
  }
  parentPort.postMessage(found);
});
`;

function tooSlow(source: string): ToolError {
  return new ToolError(
    `The regular expression ${JSON.stringify(source.slice(0, 100))} took longer than ${maxPatternMs} ms on one file`,
    {
      code: 'invalid_params',
      hint: 'Use a simpler pattern, without nested repetitions, or a plain text with regex false.',
    },
  );
}

/**
 * Matches a regular expression, in a thread of its own, whether letters are composed or decomposed.
 *
 * Errors: `ToolError` `invalid_params` for a pattern that is not valid or does not end in time.
 */
export function lineMatcher(given: string, ignoresCase: boolean): LineMatcher {
  const source = given.normalize('NFC');
  const flags = ignoresCase ? 'iu' : 'u';
  try {
    new RegExp(source, flags);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ToolError(`The regular expression is not valid: ${reason.slice(0, 200)}`, {
      code: 'invalid_params',
      hint: 'Correct the pattern, or search for a plain text with regex false.',
    });
  }
  const thread = new Worker(threadSource, { eval: true, workerData: { source, flags }, env: {} });
  const match = async (text: string, limit: number): Promise<readonly LineMatch[]> => {
    thread.postMessage({ text, limit });
    const inTime = AbortSignal.timeout(maxPatternMs);
    const message = once(thread, 'message', { signal: inTime }).catch((thrown: unknown) => {
      throw inTime.aborted ? tooSlow(source) : thrown;
    });
    const [found] = (await message) as [readonly [number, string, number][]];
    return found.map(([line, whole, at]) => ({ line, text: shownLine(whole, at) }));
  };
  return { match, close: () => thread.terminate() };
}
