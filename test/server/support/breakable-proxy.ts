/** A connection to a gateway that a test can break and allow again, as a network does. */
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** Forwards bytes on loopback. */
export class BreakableProxy {
  private readonly sockets = new Set<Socket>();
  private isBroken = false;

  private constructor(
    private readonly server: Server,
    /** `http://127.0.0.1:<port>`, instead of the gateway's. */
    readonly url: string,
  ) {}

  /** Starts one before the server of this URL. */
  static async start(target: string): Promise<BreakableProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('it has no port');
    const proxy = new BreakableProxy(server, `http://127.0.0.1:${address.port}`);
    server.on('connection', (socket) => {
      proxy.forward(socket, Number(new URL(target).port));
    });
    return proxy;
  }

  /** Breaks what is open, and refuses what comes. */
  refuse(): void {
    this.isBroken = true;
    for (const socket of this.sockets) socket.destroy();
  }

  allow(): void {
    this.isBroken = false;
  }

  async stop(): Promise<void> {
    this.refuse();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private forward(socket: Socket, port: number): void {
    if (this.isBroken) {
      socket.destroy();
      return;
    }
    const onward = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      this.sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
