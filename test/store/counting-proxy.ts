/** A way to a Postgres server that counts what the server answers: round trips, and statements. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** What the server has answered so far. */
interface AnswerCounts {
  /** Times that it was ready for more (`ReadyForQuery`): what its caller has waited for. */
  readonly roundTrips: number;
  /** Statements that it has completed (`CommandComplete`). */
  readonly statements: number;
}

/** A listening proxy. */
export interface CountingProxy {
  readonly port: number;
  counts(): AnswerCounts;
  close(): void;
}

const readyForQuery = 'Z'.charCodeAt(0);
const commandComplete = 'C'.charCodeAt(0);

/** Listens for connections to `targetPort`, which must not be encrypted. */
export async function startCountingProxy(targetPort: number): Promise<CountingProxy> {
  const counts = { roundTrips: 0, statements: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        target.destroy();
      });
    }
    let rest = Buffer.alloc(0);
    client.pipe(target);
    target.on('data', (data: Buffer) => {
      rest = Buffer.concat([rest, data]);
      // A message is its type, one byte, and its length in four, which counts itself but not the type.
      while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
        if (rest[0] === readyForQuery) counts.roundTrips += 1;
        if (rest[0] === commandComplete) counts.statements += 1;
        rest = rest.subarray(rest.readUInt32BE(1) + 1);
      }
      client.write(data);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    counts: () => ({ ...counts }),
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
