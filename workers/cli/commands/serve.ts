/** `holdfast serve`: the gateway, until it is ended. It is composed here, of Temporal, the store, and the tokens. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { packageVersion } from '../../../activities/lifecycle/package-version';
import type { Store } from '../../../activities/stores/store';
import type { AgentClient } from '../../../client/agent-client';
import type { ConnectOptions } from '../../../client/connect-options';
import { ClientError, reasonOf } from '../../../client/client-error';
import { createGateway } from '../../../server/gateway';
import type { AccessToken } from '../../../server/http/access-tokens';
import { parseTokens } from '../../../server/http/access-tokens';
import { defined } from '../../../workflows/core/json';
import type { Environment } from '../../env';
import { readEnvironment } from '../../env';
import { createLogger } from '../../logging';
import { SetupError, UnreachableError } from '../../setup-error';
import type { CommandContext, CommonOptions } from '../command-context';
import { openEnvironmentStore } from '../environment-store';
import { gatewayStore } from '../gateway-store';
import { waitUntilReady } from '../wait-until-ready';

/** Options of the command. */
interface ServeOptions extends CommonOptions {
  readonly host: string;
  readonly port: number;
  readonly tokens?: string;
  readonly corsOrigin?: readonly string[];
  readonly taskQueue?: string;
  /** Serve the console, too. */
  readonly console: boolean;
  /** Milliseconds. */
  readonly wait: number;
}

/** The tokens of the file, else of the environment. Errors: `SetupError`. */
async function tokensFrom(
  file: string | undefined,
  { gatewayTokens }: Pick<Environment, 'gatewayTokens'>,
  directory: string,
): Promise<readonly AccessToken[]> {
  const place = file === undefined ? 'HOLDFAST_GATEWAY_TOKENS' : `the file ${file}`;
  const remedy = 'Make entries with `holdfast gateway-token NAME --role operate`.';
  try {
    const text =
      file === undefined ? gatewayTokens : await readFile(path.resolve(directory, file), 'utf8');
    if (text !== undefined) return parseTokens(text);
  } catch (thrown) {
    throw new SetupError(`The tokens in ${place} are not usable: ${reasonOf(thrown)}. ${remedy}`, {
      cause: thrown,
    });
  }
  throw new SetupError(
    `The gateway has no tokens, so nobody could use it. Name a file with --tokens, or set HOLDFAST_GATEWAY_TOKENS, to a JSON list. ${remedy}`,
  );
}

/** Milliseconds that Temporal and the store may take for one answer; then the caller gets 503, and may ask again. */
const answerTimeoutMs = 4_000;

/** Store and client, once both answer. */
async function reach(
  { connect, variables }: CommandContext,
  environment: Environment,
  place: Pick<ConnectOptions, 'taskQueue'>,
): Promise<{ readonly store: Store; readonly client: AgentClient }> {
  const store = await openEnvironmentStore(environment, variables);
  try {
    return { store, client: await connect({ store, answerTimeoutMs, ...place }) };
  } catch (thrown) {
    await store.close();
    const isDown = thrown instanceof ClientError && thrown.code === 'unreachable';
    throw isDown ? new UnreachableError(thrown.message, { cause: thrown }) : thrown;
  }
}

/** Serves until SIGINT or SIGTERM, then tells streams to connect elsewhere and finishes what it has begun. */
export async function serve(context: CommandContext, options: ServeOptions): Promise<void> {
  const { output, variables, directory } = context;
  const { host, port, corsOrigin: corsOrigins, taskQueue, console } = options;
  const environment = readEnvironment(variables, directory);
  const tokens = await tokensFrom(options.tokens, environment, directory);
  const { store, client } = await waitUntilReady(
    () => reach(context, environment, defined({ taskQueue })),
    options.wait,
    output.note,
  );
  const ended = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  const log = createLogger(environment.logLevel);
  try {
    const gateway = await createGateway({
      ...{
        client,
        tokens,
        log,
        console,
        version: packageVersion(),
        store: gatewayStore(store, answerTimeoutMs),
      },
      ...defined({ corsOrigins }),
    });
    const url = await gateway.app.listen({ host, port }).catch((thrown: unknown) => {
      throw new SetupError(
        `The gateway cannot listen on ${host}:${port}: ${reasonOf(thrown)}. Give another --host or --port.`,
        { cause: thrown },
      );
    });
    const ready = { type: 'GatewayReady', url, tokens: tokens.map(({ name }) => name) };
    output.write(
      options.json === true
        ? `${JSON.stringify(ready)}\n`
        : `gateway at ${url}, ${url}/openapi.json\n${console ? `console at ${url}/\n` : ''}`,
    );
    await ended;
    await gateway.close();
  } finally {
    await client.close();
    await store.close();
  }
}
