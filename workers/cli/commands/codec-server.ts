/** `holdfast codec-server`: lets Temporal's Web UI and command line show what is encrypted. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createCodecServer } from '../../codec-server';
import { readEnvironment } from '../../env';
import { reasonOf, SetupError } from '../../setup-error';
import type { CommandContext, CommonOptions } from '../command-context';
import { environmentEncoding } from '../reach-temporal';

/** Serves until it is ended. */
export async function codecServer(
  { output, variables, directory }: CommandContext,
  options: CommonOptions & {
    readonly port: number;
    readonly host: string;
    readonly origin?: readonly string[];
  },
): Promise<void> {
  const environment = readEnvironment(variables, directory);
  const { dataConverter } = await environmentEncoding(environment, variables);
  const codecs = dataConverter?.payloadCodecs ?? [];
  if (codecs.length === 0)
    throw new SetupError(
      'There is nothing to decrypt with: set HOLDFAST_ENCRYPTION_KEYS to the keys of the workers, or HOLDFAST_DATA_CONVERTER to their module.',
    );
  const { codecToken: token } = environment;
  if (token === undefined)
    throw new SetupError(
      'HOLDFAST_CODEC_TOKEN is not set: anybody could decrypt. Set it to a secret of 16 characters or more (`openssl rand -base64 32` makes one).',
    );
  const { host, port, origin: origins = [] } = options;
  const server = createCodecServer({ codecs, origins, token });
  server.listen(port, host);
  await once(server, 'listening').catch((thrown: unknown) => {
    throw new SetupError(
      `The codec server cannot listen on ${host}:${port}: ${reasonOf(thrown)}. Give another --port or --host.`,
      { cause: thrown },
    );
  });
  const { port: actual } = server.address() as AddressInfo;
  const url = `http://${host}:${actual}`;
  output.write(
    options.json === true
      ? `${JSON.stringify({ type: 'CodecServerReady', url, origins })}\n`
      : `codec server at ${url} for pages of ${origins.join(', ') || 'no origin'}\n`,
  );
  const ended = ['SIGINT', 'SIGTERM'].map((signal) => once(process, signal));
  await Promise.race(ended);
  server.close();
  server.closeAllConnections();
}
