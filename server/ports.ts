/** What the gateway needs of the process that serves it: the command line composes it (ADR 0067). */
import type { FastifyBaseLogger } from 'fastify';
import type { AgentClient } from '../client/index';
import type { Head, Message } from '../workflows/core/message';
import type { AccessToken } from './http/access-tokens';

/** Health of one route, shared by all runs and workers. */
interface RouteHealth {
  /** `provider/model`. */
  readonly route: string;
  readonly status: 'healthy' | 'degraded' | 'down';
  /** Failures since the last success. */
  readonly errorCount: number;
  readonly lastErrorReason?: string;
  readonly lastError?: string;
  readonly lastFailureAtMs?: number;
  readonly lastSuccessAtMs?: number;
  /** 0: it does not cool down. */
  readonly cooldownUntilMs: number;
}

/** What runs have learned, with further fields. */
interface KnownPattern {
  readonly id: string;
  readonly tenant: string;
  readonly status: 'candidate' | 'active' | 'demoted' | 'disabled';
}

/** What the gateway reads, and people switch, in the workers' store. */
export interface GatewayStore {
  readonly id: string;
  /** For people, without a password. */
  readonly label: string;
  loadTranscript(head: Head): Promise<readonly Message[]>;
  listHealth(): Promise<readonly RouteHealth[]>;
  /** Of a tenant, or of all; oldest first. */
  patterns(tenant?: string): Promise<readonly KnownPattern[]>;
  /** One of them; undefined if it is not there. */
  pattern(id: string): Promise<KnownPattern | undefined>;
  /** Lets nothing use it any more, or lets its evidence decide again. The pattern after it; undefined if it is not there. */
  switchPattern(id: string, how: 'disable' | 'enable'): Promise<KnownPattern | undefined>;
  /** Rejects if the store does not answer. */
  check(): Promise<void>;
}

/** A gateway's world. */
export interface GatewayOptions {
  /** Has the same store, for text while it arrives, images and files. */
  readonly client: AgentClient;
  /** Without one there are no transcripts, providers, patterns and no text while it arrives. */
  readonly store?: GatewayStore;
  readonly tokens: readonly AccessToken[];
  readonly log: FastifyBaseLogger;
  /** Version in the OpenAPI document. */
  readonly version: string;
  /** Serve the console at `/`. Default: the API alone. */
  readonly console?: boolean;
  /** Origins of other sites whose pages may call the gateway. Default none. */
  readonly corsOrigins?: readonly string[];
  readonly limits?: Partial<GatewayLimits>;
}

/** What callers may take of one gateway. */
export interface GatewayLimits {
  /** Requests of one token in a minute. Default 1,200. */
  readonly requestsPerMinute: number;
  /** Wrong tokens of one address in a minute; then it reads 429 for these. Default 60. */
  readonly failuresPerMinute: number;
  /** Event streams and waits for results that one token may hold open. Default 500. */
  readonly streamsPerToken: number;
  /** The same of all tokens. Default 2,000. */
  readonly streams: number;
  /** Open connections. Default 10,000. */
  readonly connections: number;
  /** Milliseconds for a whole request to arrive. Default 30,000. */
  readonly requestMs: number;
  /** Milliseconds between two heartbeats of an event stream. Default 15,000. */
  readonly heartbeatMs: number;
  /** Milliseconds that requests in progress get when the gateway ends. Default 20,000. */
  readonly drainMs: number;
}

/** Sources: ADR 0067. */
export const defaultGatewayLimits: GatewayLimits = {
  requestsPerMinute: 1_200,
  failuresPerMinute: 60,
  streamsPerToken: 500,
  streams: 2_000,
  connections: 10_000,
  requestMs: 30_000,
  heartbeatMs: 15_000,
  drainMs: 20_000,
};
