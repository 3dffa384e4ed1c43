/** Sorts an answer as an adapter that saw it would, and builds answers in the vendors' shapes. */
import { providerFailure } from '../../../activities/providers/failure/provider-failure';
import type { InfraError } from '../../../workflows/core/failure';

/** An HTTP answer. */
export interface Answer {
  readonly status?: number;
  readonly body?: unknown;
  readonly bodyText?: string;
  readonly headers?: Record<string, string>;
}

/** The failure that the answer comes to. */
export function sortAnswer(answer: Answer, nowMs = 0): InfraError {
  const bodyText =
    answer.bodyText ?? (answer.body === undefined ? '' : JSON.stringify(answer.body));
  return providerFailure(
    new Error('the SDK said no'),
    { route: 'acme/model-1', apiKey: 'the-real-key-9f8e7d', nowMs },
    {
      bodyText,
      headers: new Headers(answer.headers),
      ...(answer.status === undefined ? {} : { status: answer.status }),
    },
  );
}

/** Anthropic's error body. */
export const anthropicError = (type: string, message: string): unknown => ({
  type: 'error',
  error: { type, message },
});
/** OpenAI's error body. */
export const openaiError = (
  message: string,
  type: string,
  code: string | null = null,
): unknown => ({
  error: { message, type, param: null, code },
});
/** Gemini's error body on its OpenAI-compatible wire. */
export const geminiError = (
  code: number,
  status: string,
  message: string,
  details: unknown[] = [],
): unknown => [{ error: { code, status, message, details } }];
