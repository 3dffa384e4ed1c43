/** Measures what telemetry costs: processor time of a worker per iteration, without it, with it, and without it once more, at the same time. */
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

/** Tool calls of one run. */
const calls = 40;
/** Rounds in which code is compiled. */
const warmUpRounds = 10;

/** What the benchmark found. */
export interface TelemetryBenchResult {
  readonly rounds: number;
  /** Milliseconds of user and system time of the whole process per iteration: mean of the rounds. */
  readonly cpuMs: Readonly<Record<Kind, number>>;
  /** Of these to that of `off`. */
  readonly ratio: Readonly<Record<'on' | 'again', number>>;
  /** Standard error of the mean of the rounds' ratios to `off`. */
  readonly error: Readonly<Record<'on' | 'again', number>>;
  /** Bytes of traces per iteration that arrived at the receiver. */
  readonly traceBytes: number;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Standard error of the mean. */
function errorOf(values: readonly number[]): number {
  const middle = mean(values);
  const squares = values.map((value) => (value - middle) ** 2);
  return Math.sqrt(mean(squares) / (values.length - 1));
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
  const engine = fork(path.join(__dirname, 'telemetry-engine.js'), [kind, address, String(calls)], {
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

/**
 * Runs the real loop in three worker processes on one server, with a receiver of OTLP on loopback. All three run at the same
 * time, so that what else the machine does slows each of them alike.
 */
export async function telemetryBench(rounds: number): Promise<TelemetryBenchResult> {
  const receiver = await startReceiver();
  const server = await startEmbeddedServer({ untilExitOf: process.pid });
  const engines: ChildProcess[] = [];
  for (const kind of kinds) engines.push(await startEngine(kind, server.address, receiver.url));
  const seen: Record<Kind, number[]> = { off: [], on: [], again: [] };
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    const spent = await Promise.all(engines.map(ask));
    if (round >= 0) kinds.forEach((kind, index) => seen[kind].push(spent[index] ?? NaN));
  }
  const exits = engines.map((engine) => once(engine, 'exit'));
  for (const engine of engines) engine.send('end');
  await Promise.all(exits);
  await server.stop();
  receiver.close();
  const ratios = (kind: Kind): readonly number[] =>
    seen[kind].map((ms, round) => ms / (seen.off[round] ?? NaN));
  const cpuMs = (kind: Kind): number => rounded(mean(seen[kind]) / (calls + 1));
  const ratio = (kind: Kind): number => rounded(mean(seen[kind]) / mean(seen.off));
  const error = (kind: Kind): number => rounded(errorOf(ratios(kind)));
  return {
    rounds,
    cpuMs: { off: cpuMs('off'), on: cpuMs('on'), again: cpuMs('again') },
    ratio: { on: ratio('on'), again: ratio('again') },
    error: { on: error('on'), again: error('again') },
    traceBytes: Math.round(receiver.bytes() / ((rounds + warmUpRounds) * (calls + 1))),
  };
}
