/** How far an answer got, as the emulator reports it, if the client leaves early. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, get } from 'node:http';
import type { Action, AnswerProgress } from '../../testing/emulator/delivery';
import { deliver } from '../../testing/emulator/delivery';

/** Delivers the actions to a client that leaves at the first byte of the body. */
async function leftEarly(actions: readonly Action[]): Promise<AnswerProgress> {
  const server = createServer();
  const delivered = new Promise<AnswerProgress>((resolve) => {
    server.once('request', (_request, response) => {
      let last: AnswerProgress | undefined;
      void deliver(response, actions, (progress) => (last = progress)).then(() => {
        if (last !== undefined) resolve(last);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = get({ host: '127.0.0.1', port }, (response) => {
    response.once('data', () => client.destroy());
    response.once('error', () => undefined);
  });
  client.once('error', () => undefined);
  try {
    return await delivered;
  } finally {
    server.close();
  }
}

const head: Action = { type: 'head', status: 200, headers: {} };
const write: Action = { type: 'write', bytes: Buffer.from('whole') };
/** Ends when the client has gone. */
const wait: Action = { type: 'wait', ms: 10_000 };

test('an answer has landed where only its connection had to end', async () => {
  const progress = await leftEarly([head, write, wait, { type: 'end', how: 'eof' }]);
  expect(progress).toMatchObject({ landed: true, finished: true, abandoned: false });
});

test.each<readonly [string, readonly Action[]]>([
  ['a write', [write, { type: 'end', how: 'eof' }]],
  ['a reset', [{ type: 'end', how: 'reset' }]],
])('an answer is abandoned where %s was to come', async (_what, rest) => {
  const progress = await leftEarly([head, write, wait, ...rest]);
  expect(progress).toMatchObject({ landed: false, finished: true, abandoned: true });
});
