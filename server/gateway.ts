/** The gateway: runs over HTTP, for any program and browser, with tokens, tenants, limits, and an OpenAPI document (ADR 0067). */
import type { Socket } from 'node:net';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { fastify, LogController } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { defaultTenant } from '../workflows/core/limits';
import type { AccessToken } from './http/access-tokens';
import { authenticate } from './http/authenticate';
import { healthRoutes } from './http/health';
import { bodyBytes } from './http/large-bodies';
import { openApiOptions } from './http/open-api';
import { shortened } from '../workflows/core/shortened';
import { HttpProblem, problemOf, sendProblem } from './http/problem';
import { safeJson } from './http/safe-json';
import type { GatewayLimits, GatewayOptions } from './ports';
import { defaultGatewayLimits } from './ports';
import { consoleRoutes } from './routes/console-routes';
import { deploymentRoutes, inboxRoute, patternRoutes } from './routes/deployment-routes';
import type { RouteWorld } from './routes/gateway-routes';
import { decisionRoutes, steerRoutes } from './routes/people-routes';
import { lookRoutes, resultRoute, startRoutes, whyRoute } from './routes/run-routes';
import { eventRoute, storyRoutes } from './routes/story-routes';
import { OpenStreams } from './streams/open-streams';

/** A gateway that listens nowhere yet. */
export interface Gateway {
  readonly app: FastifyInstance;
  /** Tells streams to connect elsewhere, finishes the other requests, and closes; after `drainMs` at the latest. */
  close(): Promise<void>;
}

/** Milliseconds that one request may take, but for streams and waits. */
const handlerMs = 60_000;
/** Milliseconds between two looks for requests that arrive too slowly. */
const slowCheckMs = 2_000;
/** Characters of a parameter in a path: the longest run id, each character of it encoded. */
const parameterChars = 3_000;

/** Makes a gateway. Contract: it keeps nothing, so any number of them may serve the same runs. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const limits: GatewayLimits = { ...defaultGatewayLimits, ...options.limits };
  const streams = new OpenStreams(limits);
  const app = createServer(options, limits);
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"], baseUri: ["'none'"] },
    },
    referrerPolicy: { policy: 'no-referrer' },
  });
  const { corsOrigins = [] } = options;
  if (corsOrigins.length > 0)
    await app.register(cors, {
      origin: [...corsOrigins],
      allowedHeaders: ['authorization', 'content-type', 'idempotency-key', 'last-event-id'],
      exposedHeaders: ['location', 'retry-after'],
      methods: ['GET', 'POST'],
    });
  await app.register(swagger, openApiOptions(options.version));
  const { client, store, log } = options;
  healthRoutes(app, {
    checks: {
      Temporal: () => client.page({ tenant: defaultTenant, limit: 1 }),
      ...(store === undefined ? {} : { 'the store': () => store.check() }),
    },
    notNow: () => (streams.draining.aborted ? 'This gateway ends.' : undefined),
    log,
  });
  if (options.console === true) consoleRoutes(app);
  await app.register((api) => protectedRoutes(api, options, { ...options, limits, streams }), {
    prefix: '/v1',
  });
  let openApi: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    openApi ??= JSON.stringify(app.swagger());
    return reply.type('application/json').send(openApi);
  });
  return { app, close: () => close(app, streams, limits) };
}

function createServer({ log }: GatewayOptions, limits: GatewayLimits): FastifyInstance {
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    bodyLimit: bodyBytes,
    requestTimeout: limits.requestMs,
    handlerTimeout: handlerMs,
    forceCloseConnections: 'idle',
    http: { connectionsCheckingInterval: slowCheckMs, headersTimeout: limits.requestMs },
    routerOptions: { maxParamLength: parameterChars },
    frameworkErrors: (error, request, reply) => {
      void sendProblem(error, request, reply);
    },
    clientErrorHandler: refuseSocket,
  });
  app.server.maxConnections = limits.connections;
  app.removeContentTypeParser('text/plain');
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => safeJson);
  app.setErrorHandler(sendProblem);
  app.setNotFoundHandler((request, reply) =>
    sendProblem(
      new HttpProblem(
        404,
        'not-found',
        `The gateway has no route ${request.method} ${shortened(request.url.replace(/\?.*$/s, ''), 200)}. /openapi.json lists its routes.`,
      ),
      request,
      reply,
    ),
  );
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store');
    done();
  });
  return app;
}

function protectedRoutes(
  instance: FastifyInstance,
  { tokens }: GatewayOptions,
  world: RouteWorld,
): Promise<void> {
  const api = instance.withTypeProvider<ZodTypeProvider>();
  return authenticate(instance, tokens, world.limits).then(() => {
    // Who did what: reading is not recorded.
    api.addHook('onResponse', (request, reply, done) => {
      const { method, routeOptions, params } = request;
      // Who has no token that is known gets no further than the check of it.
      const { token } = request as { readonly token?: AccessToken };
      if (method === 'POST')
        request.log.info(
          {
            token: token?.name ?? 'nobody',
            route: routeOptions.url,
            params,
            status: reply.statusCode,
          },
          'request',
        );
      done();
    });
    startRoutes(api, world);
    lookRoutes(api, world);
    resultRoute(api, world);
    whyRoute(api, world);
    eventRoute(api, world);
    storyRoutes(api, world);
    decisionRoutes(api, world);
    steerRoutes(api, world);
    inboxRoute(api, world);
    deploymentRoutes(api, world);
    patternRoutes(api, world);
  });
}

/** What is no HTTP, has too large headers, or arrives too slowly gets a problem too, where it can still be written. */
function refuseSocket(error: Error & { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, title] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request'];
  const code = title.toLowerCase().replaceAll(' ', '-');
  const body = safeJson(problemOf(status, code, 'The request could not be read.'));
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'x-content-type-options: nosniff',
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => {
    socket.destroy();
  });
}

async function close(
  app: FastifyInstance,
  streams: OpenStreams,
  { drainMs }: GatewayLimits,
): Promise<void> {
  streams.end();
  const late = setTimeout(() => {
    app.server.closeAllConnections();
  }, drainMs);
  try {
    await app.close();
  } finally {
    clearTimeout(late);
  }
}
