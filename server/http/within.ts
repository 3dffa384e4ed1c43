/** A bound on how long an answer may take, for what has none of its own. */

/** Thrown for what has not answered in time. */
export class NoAnswerError extends Error {}

/** What the work comes to. Errors: `NoAnswerError` after `limitMs` milliseconds; the work itself goes on. */
export async function within<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(reject, limitMs, new NoAnswerError(`no answer within ${limitMs} ms`));
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
