/** A gateway over real runs: Temporal, a worker, a store, the vendor emulator, and clients made from the gateway's own document. */
import { Client } from '@temporalio/client';
import type { Client as ApiClient } from 'openapi-fetch';
import createApiClient from 'openapi-fetch';
import type { Logger } from 'pino';
import { pino } from 'pino';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { AgentClient } from '../../../client/index';
import type { Gateway } from '../../../server/gateway';
import { createGateway } from '../../../server/gateway';
import type { AccessToken } from '../../../server/http/access-tokens';
import { makeToken } from '../../../server/http/access-tokens';
import type { GatewayLimits } from '../../../server/ports';
import { gatewayStore } from '../../../workers/cli/gateway-store';
import type { AgentWorld } from '../../support/agent-world';
import { startAgentWorld } from '../../support/agent-world';
import type { DevServer } from '../../support/temporal';
import type { paths } from '../../../examples/gateway-api';

/** A client of the API, with its types. */
export type Api = ApiClient<paths>;

/** The world of one test file. */
export interface GatewayWorld extends AgentWorld {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly gateway: Gateway;
  /** The tokens by name: `acme` and `globex` operate their tenants, `reader` views acme, `admin` operates all. */
  readonly tokens: Readonly<Record<TokenName, string>>;
  api(name: TokenName): Api;
  /** A second gateway of the same runs. */
  another(
    limits?: Partial<GatewayLimits>,
  ): Promise<{ readonly url: string; readonly gateway: Gateway }>;
}

type TokenName = 'acme' | 'globex' | 'reader' | 'admin';

const entries: Readonly<Record<TokenName, Omit<AccessToken, 'sha256'>>> = {
  acme: { name: 'acme', role: 'operate', tenant: 'acme' },
  globex: { name: 'globex', role: 'operate', tenant: 'globex' },
  reader: { name: 'reader', role: 'view', tenant: 'acme' },
  admin: { name: 'admin', role: 'operate' },
};

/** Makes a client of the API for a token. */
function apiFor(url: string, token: string): Api {
  return createApiClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });
}

/** Starts the world; `dispose()` ends it. `server`: not the one that all suites share. */
export async function startGatewayWorld(
  agents: readonly AgentDefinition[],
  log: Logger = pino({ enabled: false }),
  server?: DevServer,
): Promise<GatewayWorld> {
  const world = await startAgentWorld(agents, server === undefined ? {} : { server });
  const { stored, taskQueue } = world;
  const { connection, namespace, address } = world.server;
  const { store } = stored;
  const client = new AgentClient(new Client({ connection, namespace }), {
    ...{ taskQueue, address, store },
  });
  const made = Object.entries(entries).map(([name, entry]) => ({ name, ...makeToken(entry) }));
  const gateways: Gateway[] = [];
  const another: GatewayWorld['another'] = async (limits = {}) => {
    const tokens = made.map(({ entry }) => entry);
    const options = {
      ...{ client, store: gatewayStore(store, 10_000), tokens, log, version: '1.2.3', limits },
      console: true,
    };
    const gateway = await createGateway(options);
    gateways.push(gateway);
    return { url: await gateway.app.listen({ port: 0, host: '127.0.0.1' }), gateway };
  };
  const { url, gateway } = await another();
  const tokens = Object.fromEntries(made.map(({ name, token }) => [name, token])) as Readonly<
    Record<TokenName, string>
  >;
  return {
    ...world,
    url,
    gateway,
    tokens,
    another,
    api: (name) => apiFor(url, tokens[name]),
    async dispose() {
      await Promise.all(gateways.map((each) => each.close()));
      await world.dispose();
    },
  };
}
