/** `/healthz`: the process answers. `/readyz`: it can serve, so send it requests. Neither needs a token, and neither says more. */
import type { FastifyInstance } from 'fastify';
import { defaultTenant } from '../../workflows/core/limits';
import type { GatewayOptions } from '../ports';
import type { OpenStreams } from '../streams/open-streams';
import { HttpProblem } from './problem';

/** Milliseconds for which an answer holds: whoever asks all the time costs Temporal and the store one question a second. */
const holdsMs = 1_000;
/** Milliseconds that Temporal and the store may take. */
const answerMs = 5_000;

/** Adds both. */
export function healthRoutes(
  app: FastifyInstance,
  { client, store, log }: GatewayOptions,
  streams: OpenStreams,
): void {
  const schema = { hide: true };
  app.get('/healthz', { schema }, () => ({ status: 'ok' }));
  let asked: { readonly atMs: number; readonly answer: Promise<boolean> } | undefined;
  const ask = async (): Promise<boolean> => {
    try {
      const limit = new Promise<never>((_resolve, reject) => {
        setTimeout(reject, answerMs, new Error(`no answer within ${answerMs} ms`)).unref();
      });
      await Promise.race([
        Promise.all([client.page({ tenant: defaultTenant, limit: 1 }), store?.check()]),
        limit,
      ]);
      return true;
    } catch (thrown) {
      log.warn({ err: thrown }, 'the gateway is not ready');
      return false;
    }
  };
  app.get('/readyz', { schema }, async () => {
    if (asked === undefined || Date.now() - asked.atMs > holdsMs)
      asked = { atMs: Date.now(), answer: ask() };
    if (streams.draining.aborted || !(await asked.answer))
      throw new HttpProblem(503, 'not-ready', 'This gateway does not take requests now.');
    return { status: 'ready' };
  });
}
