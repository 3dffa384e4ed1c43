/** The tarball in a fresh project: workers start, and histories replay, without webpack and swc, unless the bundle does not fit. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';

const root = path.resolve(__dirname, '..', '..');
const histories = path.resolve(__dirname, '..', 'replay', 'histories');
const installed = path.join('node_modules', 'holdfast');

let server: DevServer;
let project: string;

/** A project with the tarball's files and, by links, the packages that npm would install beside them. */
beforeEach(async () => {
  server = await startDevServer();
  project = realpathSync(mkdtempSync(path.join(tmpdir(), 'holdfast-packed-')));
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', project];
  const tarball = execFileSync('npm', pack, { cwd: root, encoding: 'utf8' }).trim();
  mkdirSync(path.join(project, installed), { recursive: true });
  mkdirSync(path.join(project, 'node_modules', '@temporalio'));
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'], { cwd: project });
  for (const scope of ['.', '@temporalio'])
    for (const name of readdirSync(path.join(root, 'node_modules', scope)))
      if (name !== '@temporalio' && !name.startsWith('.'))
        symlinkSync(
          path.join(root, 'node_modules', scope, name),
          path.join(project, 'node_modules', scope, name),
        );
});
afterEach(async () => {
  await server.close();
  rmSync(project, { recursive: true, force: true });
});

/** Runs code in the project; returns what it printed, and which parts of the bundler it had loaded at the end. */
async function run(code: string): Promise<{ readonly printed: string; readonly bundler: string }> {
  writeFileSync(
    path.join(project, 'main.cjs'),
    `const { connectWorker, createWorker, HoldfastPlugin, installRuntime } = require('holdfast/worker');
    const { createActivities, openStore } = require('holdfast');
    installRuntime('error');
    const options = { taskQueue: ${JSON.stringify(uniqueName('packed'))} };
    process.on('exit', () => {
      const files = Object.keys(require.cache);
      const has = (part) => files.some((file) => file.includes(part));
      console.log('bundler ' + ['/webpack/lib/Compiler.js', '/@swc/core/'].filter(has).join(' '));
    });
    (async () => {
      const connection = await connectWorker({ address: ${JSON.stringify(server.address)} });
      const store = await openStore('sqlite:' + __dirname + '/packed.db');
      const activities = createActivities({ store, agents: [], providers: [] });
      ${code}
      await connection.close();
      await store.close();
    })().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });`,
  );
  const child = spawn(process.execPath, ['main.cjs'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (data: string) => (text += data));
  const [exitCode] = (await once(child, 'close')) as [unknown];
  expect(exitCode).toBe(0);
  const [, printed = '', bundler = ''] = /^(.*)bundler (.*)\n$/s.exec(text) ?? [];
  return { printed, bundler };
}

const createAndRun = `const worker = await createWorker({ connection, activities, ...options });
  await worker.runUntil(async () => console.log(worker.getState()));`;

it('starts a worker and a plugin without the bundler, and replays every recorded history', async () => {
  const { printed, bundler } = await run(`
    ${createAndRun}
    const { Worker } = require('@temporalio/worker');
    const { historyFromJSON } = require('@temporalio/common/lib/proto-utils');
    const { readdirSync, readFileSync } = require('node:fs');
    const plugins = [new HoldfastPlugin({ activities })];
    const plugged = await Worker.create({ connection, ...options, plugins });
    await plugged.runUntil(async () => console.log(plugged.getState()));
    for (const file of readdirSync(${JSON.stringify(histories)})) {
      const history = historyFromJSON(JSON.parse(readFileSync(${JSON.stringify(histories)} + '/' + file, 'utf8')));
      const id = history.events[0].workflowExecutionStartedEventAttributes.workflowId;
      await Worker.runReplayHistory({ plugins }, history, id || file);
      console.log('replayed');
    }`);
  expect(bundler).toBe('');
  const replayed = readdirSync(histories).map(() => 'replayed');
  expect(printed.trim().split('\n')).toEqual(['RUNNING', 'RUNNING', ...replayed]);
});

it('starts a worker with telemetry without the bundler', async () => {
  const { printed, bundler } = await run(`
    const { startTelemetry } = require('holdfast/telemetry');
    const openTelemetry = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_METRICS_EXPORTER: 'none' };
    const telemetry = await startTelemetry({ openTelemetry, logLevel: 'error' });
    console.log(telemetry.signals.join());
    const observed = telemetry.configureWorker({ connection, activities, ...options });
    const worker = await createWorker(observed);
    await worker.runUntil(async () => console.log(worker.getState()));
    await telemetry.shutdown();`);
  expect(printed).toBe('traces\nRUNNING\n');
  expect(bundler).toBe('');
});

it('bundles where the installed workflows are not those of the bundle', async () => {
  appendFileSync(path.join(project, installed, 'dist/workflows/run-agent.js'), '// edited\n');
  const { printed, bundler } = await run(createAndRun);
  expect(printed).toBe('RUNNING\n');
  expect(bundler).toContain('webpack');
});

it('bundles where another version of the SDK is installed', async () => {
  const proto = path.join(project, 'node_modules', '@temporalio', 'proto');
  rmSync(proto);
  cpSync(path.join(root, 'node_modules', '@temporalio', 'proto'), proto, { recursive: true });
  const file = path.join(proto, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...manifest, version: '1.99.0' }));
  const { printed, bundler } = await run(createAndRun);
  expect(printed).toBe('RUNNING\n');
  expect(bundler).toContain('webpack');
});

it('bundles where another plugin or an interceptor must be in the bundle', async () => {
  const { bundler } = await run(`
    const { Worker } = require('@temporalio/worker');
    const plugins = [new HoldfastPlugin({ activities }), { name: 'other' }];
    const worker = await Worker.create({ connection, ...options, plugins });
    await worker.runUntil(async () => {});`);
  expect(bundler).toContain('webpack');
});
