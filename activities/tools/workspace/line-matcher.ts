/** Finds lines by text or by regular expression; a pattern that never ends is stopped in its own thread. */
import { Worker } from 'node:worker_threads';
import { ToolError } from '../tool-error';

/** Milliseconds that a regular expression may work on one file. */
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
  close(): Promise<void>;
}

/** Characters of a line that are shown, round the match. */
const shownChars = 240;

function shownLine(line: string, at: number): string {
  const start = line.length <= shownChars ? 0 : Math.max(0, at - 80);
  const cut = line.slice(start, start + shownChars);
  return `${start > 0 ? '…' : ''}${cut}${start + shownChars < line.length ? '…' : ''}`;
}

/** Matches a literal text. */
export function textMatcher(query: string, ignoresCase: boolean): LineMatcher {
  const wanted = ignoresCase ? query.toLowerCase() : query;
  return {
    match: (text, limit) => {
      const found: LineMatch[] = [];
      const all = ignoresCase ? text.toLowerCase() : text;
      if (!all.includes(wanted)) {
        return Promise.resolve(found);
      }
      for (const [index, line] of text.split(/\r?\n/).entries()) {
        const at = (ignoresCase ? line.toLowerCase() : line).indexOf(wanted);
        if (at >= 0) {
          found.push({ line: index + 1, text: shownLine(line, at) });
        }
        if (found.length >= limit) {
          break;
        }
      }
      return Promise.resolve(found);
    },
    close: () => Promise.resolve(),
  };
}

/** Runs in the thread: plain JavaScript, since it is given as text. */
const threadSource = `
const { parentPort, workerData } = require('node:worker_threads');
const pattern = new RegExp(workerData.source, workerData.flags);
parentPort.on('message', ({ text, limit }) => {
  const found = [];
  for (const [index, line] of text.split(/\\r?\\n/).entries()) {
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
 * Matches a regular expression, in a thread of its own.
 *
 * Errors: `ToolError` `invalid_params` for a pattern that is not valid or does not end in time.
 */
export function patternMatcher(source: string, ignoresCase: boolean): LineMatcher {
  const flags = ignoresCase ? 'iu' : 'u';
  try {
    new RegExp(source, flags);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ToolError(`The regular expression is not valid: ${reason.slice(0, 200)}`, {
      code: 'invalid_params',
      hint: 'Mend the pattern, or search for a plain text with regex false.',
    });
  }
  const thread = new Worker(threadSource, { eval: true, workerData: { source, flags }, env: {} });
  const match = (text: string, limit: number): Promise<readonly LineMatch[]> =>
    new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        thread.off('message', onMessage);
        thread.off('error', onError);
      };
      const onMessage = (found: readonly [number, string, number][]): void => {
        settle();
        resolve(found.map(([line, whole, at]) => ({ line, text: shownLine(whole, at) })));
      };
      const onError = (error: Error): void => {
        settle();
        reject(error);
      };
      const timer = setTimeout(() => {
        settle();
        reject(tooSlow(source));
      }, maxPatternMs);
      thread.on('message', onMessage);
      thread.on('error', onError);
      thread.postMessage({ text, limit });
    });
  return {
    match,
    close: async () => {
      await thread.terminate();
    },
  };
}
