/** A body that fills the socket again and again is delivered whole, and leaves no listener behind. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deliver, writesOf } from '../../testing/emulator/delivery';

test('a body of megabytes in many writes gathers no listeners', async () => {
  let most = 0;
  const text = 'x'.repeat(4_000_000);
  const server = createServer((_request, response) => {
    void deliver(
      response,
      [
        { type: 'head', status: 200, headers: {} },
        ...writesOf(text, undefined, { bytesPerWrite: 100_000 }),
        { type: 'end', how: 'eof' },
      ],
      () => {
        most = Math.max(most, response.listenerCount('close'), response.listenerCount('error'));
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect((await answer.text()).length).toBe(text.length);
  server.close();
  await once(server, 'close');
  expect(most).toBeLessThan(5);
});
