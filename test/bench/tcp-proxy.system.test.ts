/** A link of the chaos breaks as networks do, and its bytes arrive in order where they arrive at all. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { TcpLink } from '../../bench/chaos/tcp-proxy';

let server: Server;
let link: TcpLink;
let served: Socket[];
let heard: string;

beforeEach(async () => {
  served = [];
  heard = '';
  server = createServer((socket) => {
    served.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      heard += bytes.toString();
      socket.write(bytes);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  link = await TcpLink.listen({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
});

afterEach(() => {
  link.close();
  for (const socket of served) socket.destroy();
  server.close();
});

/** A connection through the link, whose first echo has arrived. */
async function connected(): Promise<Socket> {
  const socket = connect(link.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write('.');
  await once(socket, 'data');
  return socket;
}

/** Resolves when the connection is gone, by an error or without one. */
function closed(socket: Socket | undefined): Promise<void> {
  return new Promise((resolve) => {
    socket?.once('close', () => {
      resolve();
    });
  });
}

/** Resolves with these many characters. */
function read(socket: Socket, length: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString();
      if (text.length >= length) resolve(text);
    });
  });
}

test('a held link is half-open: nothing arrives and nobody is told, then everything in order', async () => {
  const socket = await connected();
  link.set('hold');
  const echo = read(socket, 6);
  socket.write('one');
  socket.write('two');
  const other = connect(link.port, '127.0.0.1');
  await once(other, 'connect');
  other.write('x');
  expect(heard).toBe('.');
  expect(socket.destroyed).toBe(false);
  link.set('pass');
  expect(await echo).toBe('onetwo');
  other.destroy();
});

test('a client that leaves a held link is gone for the server when the link passes again', async () => {
  const socket = await connected();
  link.set('hold');
  socket.destroy();
  await closed(socket);
  const gone = closed(served[0]);
  expect(served[0]?.destroyed).toBe(false);
  link.set('pass');
  await gone;
});

test('a slow link keeps the order, also when it becomes a fast one', async () => {
  const socket = await connected();
  link.set('delay');
  const echo = read(socket, 9);
  for (const word of ['one', 'two', 'six']) socket.write(word);
  link.set('pass');
  expect(await echo).toBe('onetwosix');
});

test('a cut, and a link that refuses, end connections on both sides', async () => {
  const socket = await connected();
  const bothGone = Promise.all([closed(socket), closed(served[0])]);
  link.cut();
  await bothGone;
  link.set('refuse');
  const refused = connect(link.port, '127.0.0.1');
  refused.on('error', () => undefined);
  await closed(refused);
  expect(served).toHaveLength(1);
});

test('a link that loses replies lets the request take effect', async () => {
  const socket = await connected();
  link.set('lose replies');
  const gone = closed(socket);
  socket.write('pay');
  await gone;
  expect(heard).toBe('.pay');
});
