/** Measures what telemetry costs: user CPU of a worker per iteration, without it, with it, and without it once more, by turns. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { startEmbeddedServer } from '../workers/temporal-server/embedded-server';

/** `again` is a second worker without telemetry: how far it is from the first is what the measure cannot tell apart. */
const kinds = ['off', 'on', 'again'] as const;
type Kind = (typeof kinds)[number];

/** What the benchmark found. */
export interface TelemetryBenchResult {
  readonly rounds: number;
  /** Milliseconds of user CPU per iteration: the lower quartile of the rounds, since other load on the machine only adds. */
  readonly userMs: Readonly<Record<Kind, number>>;
  /** Of these to that of `off`. */
  readonly ratio: Readonly<Record<'on' | 'again', number>>;
  /** Median over the rounds of the same round's ratio to `off`. */
  readonly medianRatio: Readonly<Record<'on' | 'again', number>>;
  /** Bytes of traces per iteration that arrived at the receiver. */
  readonly traceBytes: number;
}

/** The value below which this share of the values lies. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(values.length * share)] ?? NaN;
}

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;

interface Receiver {
  readonly url: string;
  bytes(): number;
  close(): void;
}

async function startReceiver(): Promise<Receiver> {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      if (request.url === '/v1/traces') bytes += chunk.length;
    });
    request.on('end', () => response.end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: () => bytes,
    close: () => server.close(),
  };
}

async function startEngine(kind: Kind, address: string, url: string): Promise<ChildProcess> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('OTEL_'));
  const engine = fork(path.join(__dirname, 'telemetry-engine.js'), [kind, address], {
    stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
    env: {
      ...Object.fromEntries(others),
      ...(kind === 'on' ? { OTEL_EXPORTER_OTLP_ENDPOINT: url } : {}),
    },
  });
  engine.on('exit', (code) => {
    if (code !== 0)
      throw new Error(`the worker process "${kind}" ended with ${code ?? 'a signal'}`);
  });
  await once(engine, 'message');
  return engine;
}

async function ask(engine: ChildProcess): Promise<number> {
  const answer = once(engine, 'message');
  engine.send('run');
  const [ms] = (await answer) as [number];
  return ms;
}

/** Runs the real loop in three worker processes by turns, on one server, with a receiver of OTLP on loopback. */
export async function telemetryBench(rounds: number): Promise<TelemetryBenchResult> {
  const receiver = await startReceiver();
  const server = await startEmbeddedServer({ untilExitOf: process.pid });
  const engines = new Map<Kind, ChildProcess>();
  for (const kind of kinds)
    engines.set(kind, await startEngine(kind, server.address, receiver.url));
  const seen: Record<Kind, number[]> = { off: [], on: [], again: [] };
  // The first two rounds compile code.
  for (let round = -2; round < rounds; round += 1)
    for (let turn = 0; turn < kinds.length; turn += 1) {
      const kind = kinds[(turn + round + kinds.length) % kinds.length] ?? 'off';
      const engine = engines.get(kind);
      if (engine === undefined) continue;
      const ms = await ask(engine);
      if (round >= 0) seen[kind].push(ms);
    }
  const exits = [...engines.values()].map((engine) => once(engine, 'exit'));
  for (const engine of engines.values()) engine.send('end');
  await Promise.all(exits);
  await server.stop();
  receiver.close();
  const userMs = (kind: Kind): number => rounded(quantile(seen[kind], 1 / 4));
  const ratio = (kind: Kind): number => rounded(userMs(kind) / userMs('off'));
  const medianRatio = (kind: Kind): number => {
    const ratios = seen[kind].map((ms, round) => ms / (seen.off[round] ?? NaN));
    return rounded(quantile(ratios, 1 / 2));
  };
  return {
    rounds,
    userMs: { off: userMs('off'), on: userMs('on'), again: userMs('again') },
    ratio: { on: ratio('on'), again: ratio('again') },
    medianRatio: { on: medianRatio('on'), again: medianRatio('again') },
    traceBytes: Math.round(receiver.bytes() / ((rounds + 2) * 41)),
  };
}
