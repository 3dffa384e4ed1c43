/** One POST of JSON to a receiver of notifications: bounded in time, no redirects, errors without the address's secrets. */
import { z } from 'zod';
import { NotifierError } from '../definitions/notifier';
import { checkOptions } from '../lifecycle/check-options';

/** Milliseconds that a receiver may take (ADR 0027). */
export const receiverTimeoutMs = 10_000;

/** Statuses that retrying cannot fix: 3xx and 4xx except 408, 409, 425 and 429. */
function isPermanent(status: number): boolean {
  return status >= 300 && status < 500 && ![408, 409, 425, 429].includes(status);
}

/** Longest wait that a receiver may ask for. */
const longestWaitMs = 600_000;

/** `Retry-After` in seconds; a date is ignored. */
function retryAfterMs(headers: Headers): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0
    ? Math.min(seconds * 1_000, longestWaitMs)
    : undefined;
}

/** The host only: paths and queries of webhooks are secrets. */
function hostOf(url: string): string {
  return new URL(url).host;
}

/** A network failure, described by its innermost cause. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { cause } = thrown;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string')
    return cause.code;
  return thrown.name === 'TimeoutError' ? 'no answer in time' : thrown.name;
}

/**
 * Posts a body. Any 2xx status means delivered.
 *
 * Errors: `NotifierError`.
 */
export async function postJson(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<void> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      redirect: 'manual',
      signal,
    });
    await response.body?.cancel();
  } catch (thrown) {
    throw new NotifierError(`${hostOf(url)} cannot be reached: ${reasonOf(thrown)}`);
  }
  const { status } = response;
  if (status >= 200 && status < 300) return;
  throw new NotifierError(`${hostOf(url)} answered ${status}`, {
    permanent: isPermanent(status),
    retryAfterMs: retryAfterMs(response.headers),
  });
}

/** What every receiver is given. */
export const receiverShape = {
  name: z.string({ error: 'give a string' }).optional(),
  // Never shown: whoever has it can post.
  url: z
    .string({ error: 'give the address of the webhook' })
    .refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), {
      error: ({ input }) =>
        `it has ${String(input).length} characters, not shown, and is no http or https address; give one such as https://host/path`,
    }),
  timeoutMs: z.int({ error: 'give milliseconds' }).min(1, { error: 'give at least 1' }).optional(),
};

/** Errors: `UserError` that names each option with its fault; no value is shown. */
export function checkReceiver(maker: string, shape: z.ZodObject, options: unknown): void {
  const known = `Known options: ${Object.keys(shape.shape).join(', ')}.`;
  checkOptions(maker, '', shape, options, known);
}
