/** One engine's process: started, given orders, ended. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { EngineMessage, EngineOrder, EngineReport, EngineSettings } from './engine/engine';
import { engineModule } from './engines';

/** What an order came to. */
export type OrderResult = EngineReport | { readonly failed: string };

/** A process that is ready. */
export interface EngineProcess {
  readonly versions: Readonly<Record<string, string>>;
  /** From the start of the process until it served. */
  readonly startMs: number;
  /** Contract: one order at a time. After a failure by time or death the process is gone. */
  order(order: EngineOrder, limitMs: number): Promise<OrderResult>;
  /** False once the process has ended. */
  isAlive(): boolean;
  /** Resolves when the process has ended. */
  stop(): Promise<void>;
}

/** Start of a worker on a loaded machine, and building a bundle with webpack. */
const startLimitMs = 180_000;
const stopLimitMs = 30_000;

function messageOf(child: ChildProcess, limitMs: number): Promise<EngineMessage> {
  return new Promise((resolve) => {
    const end = (message: EngineMessage): void => {
      clearTimeout(timer);
      child.off('message', end);
      child.off('exit', onExit);
      resolve(message);
    };
    let late: string | undefined;
    const onExit = (code: number | null, signal: string | null): void => {
      const ended = `its process ended with ${signal ?? `code ${code ?? '?'}`}`;
      end({ type: 'failed', reason: late ?? ended });
    };
    const timer = setTimeout(() => {
      late = `not done within ${Math.round(limitMs / 1000)} s`;
      child.kill('SIGKILL');
    }, limitMs);
    child.on('message', end);
    child.on('exit', onExit);
  });
}

/**
 * Starts the process; `execArgv` is what Node needs to run the engines' files.
 *
 * Errors: rejects with the engine's reason if it does not become ready.
 */
export async function startEngine(
  settings: EngineSettings,
  execArgv: readonly string[],
): Promise<EngineProcess> {
  const startedAtMs = performance.now();
  const child = fork(engineModule('main'), [JSON.stringify(settings)], {
    execArgv: [...execArgv],
    stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
    // The OpenAI Agents SDK would send traces to the vendor.
    env: { ...process.env, OPENAI_AGENTS_DISABLE_TRACING: '1' },
  });
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const first = await messageOf(child, startLimitMs);
  const startMs = performance.now() - startedAtMs;
  if (first.type !== 'ready') {
    child.kill('SIGKILL');
    throw new Error(
      `The engine ${settings.variant} did not start (${settings.mode}): ${first.type === 'failed' ? first.reason : first.type}.`,
    );
  }
  const order = async (work: EngineOrder, limitMs: number): Promise<OrderResult> => {
    if (!isAlive()) return { failed: 'its process has ended' };
    const answer = messageOf(child, limitMs);
    child.send(work);
    const message = await answer;
    if (message.type === 'done') return message.report;
    return { failed: message.type === 'failed' ? message.reason : message.type };
  };
  return {
    versions: first.versions,
    startMs,
    order,
    isAlive,
    stop: async () => {
      if (!isAlive()) return;
      const gone = once(child, 'exit');
      await order({ type: 'stop' }, stopLimitMs);
      child.kill('SIGKILL');
      await gone;
    },
  };
}
