/** Who calls, and whether they may: a token on every request, `operate` for all that changes something. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import rateLimit from '@fastify/rate-limit';
import type { GatewayLimits } from '../ports';
import type { AccessToken } from './access-tokens';
import { tokenFinder } from './access-tokens';
import { HttpProblem } from './problem';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of `/v1` runs. */
    token: AccessToken;
  }
}

function isReading({ method }: FastifyRequest): boolean {
  return method === 'GET';
}

function tooMany(what: string, seconds: number): HttpProblem {
  return new HttpProblem(429, 'too-many-requests', `${what} Try again in ${seconds} s.`, {
    'retry-after': String(seconds),
  });
}

/** Protects every route of this scope. */
export async function authenticate(
  api: FastifyInstance,
  tokens: readonly AccessToken[],
  { requestsPerMinute, failuresPerMinute }: GatewayLimits,
): Promise<void> {
  const find = tokenFinder(tokens);
  api.decorateRequest('token');
  // Before the limit of requests, which counts by token.
  api.addHook('onRequest', async (request) => {
    const token = find(request.headers.authorization);
    if (token === undefined) {
      const failures = await countFailure(request);
      if (!failures.isAllowed && failures.isExceeded)
        throw tooMany('Too many wrong tokens from this address.', failures.ttlInSeconds);
      throw new HttpProblem(
        401,
        'unauthorized',
        'The request has no token that this gateway knows. Send the header `Authorization: Bearer TOKEN`.',
        { 'www-authenticate': 'Bearer realm="holdfast"' },
      );
    }
    request.token = token;
    if (token.role !== 'operate' && !isReading(request))
      throw new HttpProblem(
        403,
        'forbidden',
        `The token "${token.name}" has the role view, which only reads. Use a token with the role operate.`,
      );
  });
  await api.register(rateLimit, {
    max: requestsPerMinute,
    timeWindow: '1 minute',
    keyGenerator: ({ token }) => token.name,
    errorResponseBuilder: ({ token }, { ttl }) =>
      tooMany(`The token "${token.name}" sent too many requests.`, Math.ceil(ttl / 1_000)),
  });
  const countFailure = api.createRateLimit({
    max: failuresPerMinute,
    timeWindow: '1 minute',
    keyGenerator: ({ ip }) => ip,
  });
}
