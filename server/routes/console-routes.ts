/** The console: the built pages of `server/console`, out of memory. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HttpProblem } from '../http/problem';

/** Where `npm run build` puts the console, seen from the built gateway and from its source. */
const folders = ['../console', '../../dist/server/console'].map((folder) =>
  path.resolve(__dirname, folder),
);
const page = 'index.html';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};

/** Own files, own requests, and nothing else: no inline code or style, no markup made from text, no frame, no form that leaves. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

interface ConsoleFile {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
}

/** Errors: an error that says how to go on if the console was not built. */
function readConsole(): ReadonlyMap<string, ConsoleFile> {
  const folder = folders.find((candidate) => existsSync(path.join(candidate, page)));
  if (folder === undefined)
    throw new Error(
      `The console is not built: ${folders[0] ?? ''} has no ${page}. Run \`npm run build\`, or serve with --no-console.`,
    );
  return new Map(
    readdirSync(folder).map((name) => {
      const body = readFileSync(path.join(folder, name));
      const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
      const type = types[path.extname(name)] ?? 'application/octet-stream';
      return [name, { body, type, etag }];
    }),
  );
}

/**
 * `GET /`, and the files that its page loads.
 *
 * Contract: only names of files that were there at the start are found, so no path leads out of the folder. The files' names change with their content, so
 * browsers keep them; the page itself is asked for each time.
 */
export function consoleRoutes(app: FastifyInstance): void {
  const files = readConsole();
  const send = (request: FastifyRequest, reply: FastifyReply, name: string): FastifyReply => {
    const file = files.get(name);
    if (file === undefined)
      throw new HttpProblem(404, 'not-found', 'The console has no such file. Open / again.');
    const kept = name === page ? 'no-cache' : 'public, max-age=31536000, immutable';
    void reply
      .header('cache-control', kept)
      .header('etag', file.etag)
      .header('content-security-policy', policy);
    if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
    return reply.type(file.type).send(file.body);
  };
  app.get('/', { schema: { hide: true } }, (request, reply) => send(request, reply, page));
  app.get<{ Params: { name: string } }>(
    '/console/:name',
    { schema: { hide: true } },
    (request, reply) => send(request, reply, request.params.name),
  );
}
