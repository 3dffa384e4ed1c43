/** `/healthz`: the process answers. `/readyz`: it can work, so send it work. Neither needs a token. */
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { fastify, LogController } from 'fastify';
import { HttpProblem, sendProblem } from './problem';
import { within } from './within';

/** What a process needs to work. */
export interface Readiness {
  /** What must answer, by its name in the answer; each rejects where it does not. */
  readonly checks: Readonly<Record<string, () => Promise<unknown>>>;
  /** Why this process takes no work now whatever answers, as a sentence; undefined where it does. */
  readonly notNow: () => string | undefined;
  readonly log: FastifyBaseLogger;
}

/** Milliseconds for which an answer holds: whoever asks all the time costs Temporal and the store one question a second. */
const holdsMs = 1_000;
/** Milliseconds that each check may take. */
const answerMs = 4_000;

async function answers(
  name: string,
  check: () => Promise<unknown>,
  log: FastifyBaseLogger,
): Promise<boolean> {
  try {
    await within(answerMs, check());
    return true;
  } catch (thrown) {
    log.warn({ err: thrown, check: name }, 'not ready');
    return false;
  }
}

/** The names of what does not answer. */
async function silentOf({ checks, log }: Readiness): Promise<readonly string[]> {
  const asked = Object.entries(checks).map(async ([name, check]) =>
    (await answers(name, check, log)) ? [] : [name],
  );
  return (await Promise.all(asked)).flat();
}

/** Adds both. */
export function healthRoutes(app: FastifyInstance, readiness: Readiness): void {
  const schema = { hide: true };
  app.get('/healthz', { schema }, () => ({ status: 'ok' }));
  let asked: { readonly atMs: number; readonly silent: Promise<readonly string[]> } | undefined;
  app.get('/readyz', { schema }, async () => {
    const reason = readiness.notNow();
    if (reason !== undefined) throw new HttpProblem(503, 'not-ready', reason);
    if (asked === undefined || Date.now() - asked.atMs > holdsMs)
      asked = { atMs: Date.now(), silent: silentOf(readiness) };
    const silent = await asked.silent;
    if (silent.length > 0)
      throw new HttpProblem(
        503,
        'not-ready',
        `No answer to this process: ${silent.join(' and ')}. The log says why.`,
      );
    return { status: 'ready' };
  });
}

/** A server of both alone, for a process that serves nothing else. It listens nowhere yet. */
export function createHealthServer(readiness: Readiness): FastifyInstance {
  const app = fastify({
    loggerInstance: readiness.log,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
  });
  app.setErrorHandler(sendProblem);
  healthRoutes(app, readiness);
  return app;
}
