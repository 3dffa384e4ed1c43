/** A link between two processes that can break as networks do: cut, refused, slow, half-open, with replies that are lost. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/**
 * What happens to bytes and to new connections. `hold` is a half-open connection: both sides think that it lives, nothing arrives.
 * `lose replies` lets requests arrive, and ends the connection where its server answers.
 */
export type LinkMode = 'pass' | 'refuse' | 'delay' | 'hold' | 'lose replies';

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  /** Bytes on their way while the link holds or delays, in order. */
  readonly waiting: { readonly to: Socket; readonly bytes: Buffer }[];
  /** One side is gone while the link holds: the other does not know. */
  hasEnded: boolean;
}

/** Milliseconds that each piece waits on a slow link. */
const delayMs = 700;

/** Where the link leads. */
export interface LinkTarget {
  readonly host: string;
  readonly port: number;
}

/** A listening link. */
export class TcpLink {
  #mode: LinkMode = 'pass';
  readonly #pairs = new Set<Pair>();
  readonly #server: Server;

  private constructor(private readonly target: LinkTarget) {
    this.#server = createServer((near) => {
      this.#accept(near);
    });
  }

  /** A link to this target on a free port of the loopback interface. */
  static async listen(target: LinkTarget): Promise<TcpLink> {
    const link = new TcpLink(target);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  /** The port to connect to instead of the target's. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Changes what happens from now on. Bytes that were held arrive where the new mode lets bytes pass. */
  set(mode: LinkMode): void {
    this.#mode = mode;
    if (mode === 'refuse') this.cut();
    if (mode === 'pass') for (const pair of [...this.#pairs]) this.#deliver(pair);
  }

  /** Resets every connection. */
  cut(): void {
    for (const pair of [...this.#pairs]) this.#end(pair);
  }

  /** Ends the link. */
  close(): void {
    this.cut();
    this.#server.close();
  }

  #accept(near: Socket): void {
    near.on('error', () => undefined);
    if (this.#mode === 'refuse') {
      near.resetAndDestroy();
      return;
    }
    const far = connect(this.target.port, this.target.host);
    const pair: Pair = { near, far, waiting: [], hasEnded: false };
    this.#pairs.add(pair);
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        if (this.#mode === 'hold') pair.hasEnded = true;
        else this.#end(pair);
      });
    }
    near.on('data', (bytes) => {
      this.#carry(pair, far, bytes);
    });
    far.on('data', (bytes) => {
      if (this.#mode === 'lose replies') this.#end(pair);
      else this.#carry(pair, near, bytes);
    });
  }

  #carry(pair: Pair, to: Socket, bytes: Buffer): void {
    const mustWait = this.#mode === 'hold' || this.#mode === 'delay' || pair.waiting.length > 0;
    if (!mustWait) {
      to.write(bytes);
      return;
    }
    pair.waiting.push({ to, bytes });
    if (this.#mode === 'delay')
      setTimeout(() => {
        const first = pair.waiting.shift();
        first?.to.write(first.bytes);
      }, delayMs);
  }

  #deliver(pair: Pair): void {
    for (const { to, bytes } of pair.waiting.splice(0)) to.write(bytes);
    if (pair.hasEnded) this.#end(pair);
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    for (const socket of [pair.near, pair.far]) if (!socket.destroyed) socket.resetAndDestroy();
  }
}
