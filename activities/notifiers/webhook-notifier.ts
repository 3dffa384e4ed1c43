/** Posts notifications as JSON, signed as Standard Webhooks has it, so that receivers can check them with a library. */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Notifier } from '../definitions/notifier';
import { rememberSecret } from '../untrusted/known-secrets';
import { checkReceiver, postJson, receiverShape, receiverTimeoutMs } from './post-json';

/** A receiver of signed JSON. */
export interface WebhookOptions {
  /** Default `webhook`. */
  readonly name?: string;
  readonly url: string;
  /** Shared with the receiver. `whsec_` and base64, or any text, which is taken as its UTF-8 bytes. */
  readonly secret: string;
  /** Milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
}

const webhookShape = z.strictObject({
  ...receiverShape,
  secret: z
    .string({ error: 'give the secret that the receiver has, too' })
    .min(16, { error: 'it has fewer than 16 characters; give a longer one' }),
  clock: z.custom((value) => typeof value === 'function', 'give a function').optional(),
});

const encodedSecret = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

function keyOf(secret: string): Buffer {
  const encoded = encodedSecret.exec(secret)?.[1];
  return encoded === undefined ? Buffer.from(secret, 'utf8') : Buffer.from(encoded, 'base64');
}

/**
 * Signature of a message: HMAC-SHA256 over id, time and body.
 *
 * Source: Standard Webhooks 1.0.0 (`webhook-id`, `webhook-timestamp` in seconds, `webhook-signature: v1,<base64>`).
 */
function webhookSignature(secret: string, id: string, timestamp: number, body: string): string {
  const signed = `${id}.${timestamp}.${body}`;
  return `v1,${createHmac('sha256', keyOf(secret)).update(signed).digest('base64')}`;
}

/**
 * A notifier that posts `{ type: 'holdfast.waiting', timestamp, data: Notification }`. `webhook-id` is the notification's id: a
 * receiver that has seen it before has a duplicate.
 *
 * Errors: `UserError` at once for an option that cannot be used.
 */
export function webhookNotifier(options: WebhookOptions): Notifier {
  checkReceiver('webhookNotifier', webhookShape, options);
  const { name = 'webhook', url, secret } = options;
  const { timeoutMs = receiverTimeoutMs, clock = Date.now } = options;
  rememberSecret(secret);
  return {
    name,
    async notify(notification, signal) {
      const timestamp = Math.floor(clock() / 1_000);
      const body = JSON.stringify({
        type: 'holdfast.waiting',
        timestamp: new Date(timestamp * 1_000).toISOString(),
        data: notification,
      });
      const { id } = notification;
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': webhookSignature(secret, id, timestamp, body),
      };
      await postJson(url, body, headers, { signal, timeoutMs });
    },
  };
}
