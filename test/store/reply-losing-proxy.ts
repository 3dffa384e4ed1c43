/** A way to a server that loses one reply: the request arrives and takes effect, its sender learns nothing. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A listening proxy. */
export interface ReplyLosingProxy {
  readonly port: number;
  /** Replies lost so far: a test proves by it that its fault landed. */
  lostReplies(): number;
  close(): void;
}

/** Listens for connections to `targetPort`; cuts the first whose request holds `marker` when the reply comes. */
export async function startReplyLosingProxy(
  targetPort: number,
  marker: string,
): Promise<ReplyLosingProxy> {
  let lost = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    let isMarked = false;
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        target.destroy();
      });
    }
    client.on('data', (data) => {
      isMarked ||= data.includes(marker);
      target.write(data);
    });
    target.on('data', (data) => {
      if (isMarked && lost === 0) {
        lost += 1;
        client.destroy();
      } else {
        client.write(data);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    lostReplies: () => lost,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
