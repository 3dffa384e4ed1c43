/** An MCP server as a program of this machine: its output is bounded, and it ends with all that it started (ADR 0043). */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { isUnhandled, maxFrameBytes, messageMeter, repairedFrame, tooLarge } from './mcp-frame';
import type { StdioServer } from './mcp-options';

/** Milliseconds after the end of its input, and after SIGTERM, as the SDK gives them. */
const graceMs = 2_000;
/** Milliseconds for the last output of a server that has ended. */
const drainMs = 1_000;
/** Bytes of stderr that are kept, from its end. */
const keptErrorBytes = 4_096;
const lineEnd = 0x0a;

/** Process groups of servers that run: they end with this process, even if they do not read the end of their input. */
const groups = new Set<number>();

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // It has ended already.
  }
}

function killAll(): void {
  for (const pid of groups) killGroup(pid, 'SIGKILL');
}

/** Starts a server, and ends it. A message above the bound, or too many of them, end it at once. */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #server: StdioServer;
  readonly #meter = messageMeter();
  #child: ChildProcessWithoutNullStreams | undefined;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #errorTail = Buffer.alloc(0);
  #problem: string | undefined;
  #exit: string | undefined;

  constructor(server: StdioServer) {
    this.#server = server;
  }

  /** What the server sent that none may send, for which it was ended. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** In words how the server ended, with the end of its stderr; untrusted. */
  get ending(): string | undefined {
    const said = this.#errorTail.toString('utf8').trim();
    const how = this.#problem ?? this.#exit;
    return how === undefined || said === '' ? how : `${how}; the end of its stderr: ${said}`;
  }

  /** Errors: the system error if the program cannot be started. */
  async start(): Promise<void> {
    const { command, args = [], env, cwd } = this.#server;
    const child = spawn(command, [...args], {
      cwd,
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    this.#child = child;
    child.stdin.on('error', () => undefined);
    child.stdout.on('data', (chunk: Buffer) => {
      this.#take(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      this.#errorTail = Buffer.concat([this.#errorTail, chunk]).subarray(-keptErrorBytes);
    });
    child.once('exit', (code, signal) => {
      this.#exit = code === null ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
      void this.#finish(child);
    });
    await once(child, 'spawn');
    child.on('error', (error) => this.onerror?.(error));
    if (child.pid === undefined) return;
    if (groups.size === 0) process.on('exit', killAll);
    groups.add(child.pid);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin?.writable !== true) throw new Error('Not connected');
    if (stdin.writableLength > maxFrameBytes) {
      this.#abort(`it does not read: ${stdin.writableLength} bytes wait for it`);
      throw new Error('Not connected');
    }
    if ('method' in message && 'id' in message) this.#meter.expectAnswer();
    await new Promise<void>((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** Ends the server: the end of its input, then SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const exited = child.exitCode === null && child.signalCode === null && once(child, 'exit');
    child.stdin.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await Promise.race([exited, delay(graceMs, undefined, { ref: false })]);
      if (child.exitCode === null && child.signalCode === null) killGroup(child.pid, signal);
    }
    await exited;
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(lineEnd); end >= 0; end = rest.indexOf(lineEnd)) {
      this.#append(rest.subarray(0, end));
      if (this.#problem !== undefined) return;
      this.#read(Buffer.concat(this.#line));
      this.#line = [];
      this.#lineBytes = 0;
      rest = rest.subarray(end + 1);
    }
    this.#append(rest);
  }

  #append(part: Buffer): void {
    this.#line.push(part);
    this.#lineBytes += part.length;
    if (this.#lineBytes > maxFrameBytes) this.#abort(`it ${tooLarge}`);
  }

  /** Reads a line; one that is no message is a server's log that went to the wrong place. */
  #read(line: Buffer): void {
    let value: unknown;
    try {
      value = repairedFrame(JSON.parse(line.toString('utf8')));
    } catch {
      value = undefined;
    }
    const problem = this.#meter.problemAfter(value, line.length);
    if (problem !== undefined) {
      this.#abort(`it ${problem}`);
      return;
    }
    if (isUnhandled(value)) return;
    const message = JSONRPCMessageSchema.safeParse(value);
    if (message.success) this.onmessage?.(message.data);
  }

  /** Ends a server that does what none may do. */
  #abort(problem: string): void {
    this.#problem ??= problem;
    this.#line = [];
    this.#child?.stdout.destroy();
    killGroup(this.#child?.pid, 'SIGKILL');
  }

  /** After the program itself has ended, its children do too, and what it wrote last is read. */
  async #finish(child: ChildProcessWithoutNullStreams): Promise<void> {
    killGroup(child.pid, 'SIGKILL');
    if (child.pid !== undefined) groups.delete(child.pid);
    if (groups.size === 0) process.off('exit', killAll);
    const closed = once(child, 'close');
    await Promise.race([closed, delay(drainMs, undefined, { ref: false })]);
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
    this.onclose?.();
  }
}
