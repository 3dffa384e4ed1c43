/** Where commands are tried: a namespace of their own on a real server, a worker, a store, the vendor emulator. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ScheduleClient, WorkflowClient } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { createActivities } from '../../activities/index';
import { defineTool } from '../../activities/tools/define-tool';
import { workspaceTools } from '../../activities/tools/workspace/workspace-tools';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { readEnvironment } from '../../workers/env';
import { createWorker } from '../../workers/worker';
import { emulatedProviders, testModel } from '../support/agent-world';
import type { Ended, Variables } from '../support/run-command';
import { runCommand } from '../support/run-command';
import { startDevServer, uniqueName } from '../support/temporal';
import { temporaryStore } from '../support/temporary-store';

/** The world of one test file. */
export interface CommandWorld {
  readonly address: string;
  readonly namespace: string;
  readonly client: WorkflowClient;
  readonly schedules: ScheduleClient;
  readonly emulator: VendorEmulator;
  /** Working directory of the commands, with a `workspace` that holds `a.txt`. */
  readonly folder: string;
  readonly variables: Variables;
  /** Variables that start runs for the world's own worker, with its agents `writer`, `asker` and `reader`. */
  readonly elsewhere: Variables;
  /** Runs a command in this process; with `columns` on a terminal of that width. */
  holdfast(args: readonly string[], variables?: Variables, columns?: number): Promise<Ended>;
  /** Starts the built command as a process. */
  spawn(args: readonly string[], options?: SpawnOptions): ChildProcess;
  /** Runs the built command as a process, to its end. */
  inProcess(args: readonly string[], options?: SpawnOptions): Promise<Ended>;
  dispose(): Promise<void>;
}

interface SpawnOptions {
  readonly variables?: Variables;
  /** Arguments of node itself. */
  readonly node?: readonly string[];
  /** What the process reads from its standard input. Default: nothing. */
  readonly input?: string;
}

/** The built command. */
const program = path.resolve('dist/workers/cli.js');

const note = defineTool({
  name: 'write_note',
  description: 'Keeps a note.',
  input: z.object({ text: z.string().max(20) }),
  effect: 'keyed',
  approval: 'always',
  execute: ({ text }) => `noted: ${text}`,
});

/** `writer` has one tool, which waits for approval; `asker` ends by `complete_task` and may ask; `reader` has the workspace tools. */
const agents: readonly AgentDefinition[] = [
  {
    name: 'writer',
    instructions: 'You write.',
    chain: [{ provider: 'anthropic', model: testModel }],
    tools: [note],
  },
  {
    name: 'asker',
    instructions: 'You ask.',
    chain: [{ provider: 'anthropic', model: testModel }],
    tools: [],
    completion: 'tool',
  },
  {
    name: 'reader',
    instructions: 'You read.',
    chain: [{ provider: 'anthropic', model: testModel }],
    tools: workspaceTools(),
    programs: 'ask',
  },
];

/** Starts the world; `dispose()` ends it. */
export async function startCommandWorld(): Promise<CommandWorld> {
  const server = await startDevServer();
  const namespace = uniqueName('commands');
  await server.connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  const emulator = await VendorEmulator.start({ seed: 'cli' });
  const stored = await temporaryStore();
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-cli-'));
  await mkdir(path.join(folder, 'workspace'));
  await writeFile(path.join(folder, 'workspace', 'a.txt'), 'hello\n');
  const { cacheDirectory, searchPath } = readEnvironment();
  const variables: Variables = {
    PATH: searchPath,
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_NAMESPACE: namespace,
    HOLDFAST_STATE_DIR: path.join(folder, 'state'),
    HOLDFAST_CACHE_DIR: cacheDirectory,
    HOLDFAST_TASK_QUEUE: uniqueName('cli'),
    HOLDFAST_STORE: stored.url,
    HOLDFAST_MODEL: `anthropic/${testModel}`,
    ANTHROPIC_API_KEY: 'test-key',
    ANTHROPIC_BASE_URL: emulator.url,
  };
  const taskQueue = uniqueName('agents');
  const worker = await createWorker({
    connection: server.nativeConnection,
    namespace,
    taskQueue,
    cacheDirectory,
    activities: createActivities({
      store: stored.store,
      providers: emulatedProviders(emulator),
      agents: agents.map((agent) => ({ ...agent, recovery: { mode: 'off' } })),
    }),
  });
  const working = worker.run();
  const spawnCommand: CommandWorld['spawn'] = (args, options = {}) => {
    const { variables: more = {}, node = [], input } = options;
    const child = spawn(process.execPath, [...node, program, ...args], {
      cwd: folder,
      env: { ...variables, ...more },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    child.stdin?.end(input);
    return child;
  };
  return {
    address: server.address,
    namespace,
    client: new WorkflowClient({ connection: server.connection, namespace }),
    schedules: new ScheduleClient({ connection: server.connection, namespace }),
    emulator,
    folder,
    variables,
    elsewhere: { HOLDFAST_TASK_QUEUE: taskQueue },
    holdfast: (args, more = {}, columns) =>
      runCommand(args, { variables: { ...variables, ...more }, directory: folder, columns }),
    spawn: spawnCommand,
    inProcess: (args, options) => endOf(spawnCommand(args, options)),
    async dispose() {
      worker.shutdown();
      await working;
      await emulator.stop();
      await stored.dispose();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function endOf(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve, reject) => {
    let out = '';
    let err = '';
    child.stdout?.on('data', (data: Buffer) => (out += data.toString('utf8')));
    child.stderr?.on('data', (data: Buffer) => (err += data.toString('utf8')));
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, out, err });
    });
  });
}
