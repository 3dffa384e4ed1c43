/** Measures what telemetry costs: processor time of a worker per iteration, without it, with it, and without it once more, at the same time. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { noUsage } from '../workflows/core/budget/spend';
import { VendorEmulator } from '../testing/emulator/emulator';
import { reply } from '../testing/emulator/script';
import { startEmbeddedServer } from '../workers/temporal-server/embedded-server';

/** `again` is a second worker without telemetry: how far it is from the first is what the measure cannot tell apart. */
const kinds = ['off', 'on', 'again'] as const;
type Kind = (typeof kinds)[number];

/** Tool calls of one run. */
const calls = 40;
/** Rounds in which code is compiled, of each start. */
const warmUpRounds = 10;
/** Rounds after which new processes start: two processes of the same code differ by some percent for as long as they live. */
const roundsOfStart = 10;

/** What the benchmark found. */
export interface TelemetryBenchResult {
  readonly rounds: number;
  /** Milliseconds of user and system time of the whole process per iteration: mean of the rounds. */
  readonly cpuMs: Readonly<Record<Kind, number>>;
  /** Of `on` to the mean of both workers without, and of `again` to `off`. */
  readonly ratio: Readonly<Record<'on' | 'again', number>>;
  /** Standard error of the mean of the ratios of each start. */
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

/** The vendor, in this process, so that its work is not counted as the worker's. */
async function startVendor(): Promise<VendorEmulator> {
  const vendor = await VendorEmulator.start({ recordedBodyBytes: 1 });
  // More than a request can have: a count below our own measure would be a warning in the log.
  const usage = { ...noUsage, inputTokens: 100_000, outputTokens: 20 };
  vendor.script(({ messagesCount }) => {
    const n = (messagesCount - 1) / 2;
    return n < calls
      ? reply.toolCalls([{ name: 'look', input: { n } }], { usage })
      : reply.text('done', { usage });
  });
  return vendor;
}

/** What the workers talk to. */
interface Surroundings {
  /** Of Temporal. */
  readonly address: string;
  /** Of the vendor, and of what receives OTLP. */
  readonly vendor: string;
  readonly receiver: string;
}

async function startEngine(
  kind: Kind,
  { address, vendor, receiver }: Surroundings,
): Promise<ChildProcess> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('OTEL_'));
  const engine = fork(
    path.join(__dirname, 'telemetry-engine.js'),
    [kind, address, vendor, String(calls)],
    {
      stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
      env: {
        ...Object.fromEntries(others),
        ...(kind === 'on' ? { OTEL_EXPORTER_OTLP_ENDPOINT: receiver } : {}),
      },
    },
  );
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

/** What the rounds of one start took, in milliseconds. */
type Spent = Readonly<Record<Kind, number>>;

/**
 * Starts a worker process of each kind on one server, runs their rounds, and ends them. `shift` is who starts first: the last of
 * three identical workers takes 3 % less than the first.
 */
async function measureStart(
  outside: Omit<Surroundings, 'address'>,
  shift: number,
  rounds: number,
): Promise<Spent> {
  const server = await startEmbeddedServer({ untilExitOf: process.pid });
  const order = kinds.map((_, index) => kinds[(index + shift) % kinds.length] ?? 'off');
  const engines: ChildProcess[] = [];
  for (const kind of order)
    engines.push(await startEngine(kind, { ...outside, address: server.address }));
  const sums = { off: 0, on: 0, again: 0 };
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    const spent = await Promise.all(engines.map(ask));
    if (round >= 0) order.forEach((kind, index) => (sums[kind] += spent[index] ?? NaN));
  }
  const exits = engines.map((engine) => once(engine, 'exit'));
  for (const engine of engines) engine.send('end');
  await Promise.all(exits);
  await server.stop();
  return sums;
}

/**
 * Runs the real loop in three worker processes on one server, with a vendor and a receiver of OTLP on loopback, and starts new
 * ones after some rounds. All three run at the same time, so that what else the machine does slows each of them alike.
 */
export async function telemetryBench(rounds: number): Promise<TelemetryBenchResult> {
  const [receiver, vendor] = await Promise.all([startReceiver(), startVendor()]);
  const outside = { vendor: vendor.url, receiver: receiver.url };
  const starts: Spent[] = [];
  for (let left = rounds; left > 0; left -= roundsOfStart)
    starts.push(await measureStart(outside, starts.length, Math.min(left, roundsOfStart)));
  receiver.close();
  await vendor.stop();
  const cpuMs = (kind: Kind): number =>
    rounded(mean(starts.map((spent) => spent[kind])) * (starts.length / (rounds * (calls + 1))));
  const on = starts.map((spent) => spent.on / ((spent.off + spent.again) / 2));
  const again = starts.map((spent) => spent.again / spent.off);
  const runs = rounds + warmUpRounds * starts.length;
  return {
    rounds,
    cpuMs: { off: cpuMs('off'), on: cpuMs('on'), again: cpuMs('again') },
    ratio: { on: rounded(mean(on)), again: rounded(mean(again)) },
    error: { on: rounded(errorOf(on)), again: rounded(errorOf(again)) },
    traceBytes: Math.round(receiver.bytes() / (runs * (calls + 1))),
  };
}
