/** Servers that the benchmarks start for themselves. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that listens on loopback. */
export interface LoopbackServer {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Breaks its connections, too. Safe to repeat. */
  readonly stop: () => Promise<void>;
}

/** Listens on any free port of loopback. */
export async function listenOnLoopback(server: Server): Promise<LoopbackServer> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
