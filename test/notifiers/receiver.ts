/** A real HTTP receiver of notifications that answers as the test wants, or not at all. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as it arrived. */
interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** The receiver. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Requests of one path. */
  of(path: string): readonly Received[];
  /** How it answers from now on; `hang`: never. */
  answer(status: number | 'hang', headers?: Readonly<Record<string, string>>): void;
  clear(): void;
  stop(): Promise<void>;
}

/** Starts a receiver on loopback. */
export async function startReceiver(): Promise<Receiver> {
  let status: number | 'hang' = 200;
  let answerHeaders: Readonly<Record<string, string>> = {};
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      received.push({ path, headers, body: Buffer.concat(chunks).toString('utf8') });
      // Slack's own receiver is always up here: only the webhook's changes.
      const now = path.startsWith('/services') ? 200 : status;
      if (now === 'hang') return;
      response.writeHead(now, answerHeaders).end('ok');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    of: (path) => received.filter((request) => request.path === path),
    answer(next, headers = {}) {
      status = next;
      answerHeaders = headers;
    },
    clear() {
      received.length = 0;
      status = 200;
      answerHeaders = {};
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
