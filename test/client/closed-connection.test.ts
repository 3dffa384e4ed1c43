/** A request that is about to be sent again when its connection closes. */
import { once } from 'node:events';
import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Connection } from '@temporalio/client';
import { closedConnection } from '../../client/closed-connection';

/** Answers each request with UNAVAILABLE, which the SDK tries again. */
async function startUnavailable(): Promise<{ server: Http2Server; address: string }> {
  const server = createServer();
  server.on('stream', (stream) => {
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14' },
      { endStream: true },
    );
    server.emit('answered');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('a closed connection', () => {
  it('fails the request that waits for its next attempt, in words', async () => {
    const { server, address } = await startUnavailable();
    const connection = Connection.lazy({ address, plugins: [closedConnection] });
    const answered = once(server, 'answered');
    const request = connection.workflowService.getSystemInfo({});
    const failure = expect(request).rejects.toMatchObject({
      code: 1,
      details: expect.stringContaining('The connection to Temporal is closed') as string,
    });
    await answered;
    await connection.close();
    await failure;
    server.close();
  });

  it('fails a request that is sent after it', async () => {
    const connection = Connection.lazy({ address: '127.0.0.1:1', plugins: [closedConnection] });
    await connection.close();
    await expect(connection.workflowService.getSystemInfo({})).rejects.toThrow(
      'The connection to Temporal is closed',
    );
  });
});
