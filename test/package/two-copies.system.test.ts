/** A process that has loaded a second copy of Temporal's SDK is told so by client, worker and plugin, before they connect. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(__dirname, '..', '..');
let folder: string;

/** A copy of the SDK's package in a `node_modules` of its own, under another version. */
function addCopy(name: string, version: string): void {
  const copy = path.join(folder, 'node_modules', '@temporalio', name);
  mkdirSync(path.join(copy, 'lib'), { recursive: true });
  writeFileSync(path.join(copy, 'package.json'), JSON.stringify({ version, main: 'lib/index.js' }));
  writeFileSync(path.join(copy, 'lib', 'index.js'), '');
}

/** The message that the code's promise is rejected with. */
function rejection(code: string): string {
  const script = `(async () => { ${code} })().then(() => console.log('resolved'), (error) => console.log(error.name + ': ' + error.message))`;
  return execFileSync(process.execPath, ['-e', script], { cwd: root, encoding: 'utf8' });
}

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'holdfast-copies-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A plugin that works, but for the copies of the SDK. */
const plugin = `new (require('holdfast/worker').HoldfastPlugin)({
  activities: createActivities({
    store: await openStore(FILE),
    providers: [anthropicProvider({ apiKey: 'none' })],
    agents: [
      { name: 'a', instructions: 'x', tools: [], chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }] },
    ],
  }),
})`;
/** Code of a process that makes such a plugin. */
function withPlugin(call: string): string {
  const imported =
    "const { anthropicProvider, createActivities, openStore } = require('holdfast');";
  const made = plugin.replace('FILE', JSON.stringify(path.join(folder, 'store.db')));
  return `${imported} ${made}.${call}`;
}

const nowhere = "{ address: '127.0.0.1:1', connectTimeoutMs: 100 }";

test.each([
  ['client', 'connect', `await require('holdfast').connect(${nowhere})`],
  ['common', 'an AgentClient', "new (require('holdfast').AgentClient)({ options: {} })"],
  ['common', 'connectWorker', `await require('holdfast/worker').connectWorker(${nowhere})`],
  ['worker', 'createWorker', "await require('holdfast/worker').createWorker({ activities: {} })"],
])('a second @temporalio/%s is told by %s', (name, _who, code) => {
  addCopy(name, '1.23.0');
  const load = `require(${JSON.stringify(path.join(folder, 'node_modules', '@temporalio', name))});`;
  const both = "require('holdfast/worker'); require('@temporalio/client');";
  expect(rejection(`${both} ${load} ${code}`)).toMatch(
    new RegExp(
      `^(ClientError|SetupError): @temporalio/${name} .* and @temporalio/${name} 1\\.23\\.0 from .* are loaded`,
    ),
  );
});

test('a second @temporalio/worker is told by the plugin', () => {
  addCopy('worker', '1.23.0');
  const load = `require(${JSON.stringify(path.join(folder, 'node_modules', '@temporalio', 'worker'))});`;
  expect(
    rejection(
      `require('holdfast/worker'); ${load} ${withPlugin("configureWorker({ taskQueue: 'q' })")}`,
    ),
  ).toMatch(
    /^SetupError: @temporalio\/worker .* and @temporalio\/worker 1\.23\.0 from .* are loaded/,
  );
});

test('workflows beside another copy of @temporalio/workflow are not bundled', () => {
  addCopy('workflow', '1.23.0');
  const file = path.join(folder, 'workflows.js');
  writeFileSync(file, "exports.own = require('@temporalio/workflow').sleep;");
  const options = `{ workflowsPath: ${JSON.stringify(file)} }`;
  expect(rejection(withPlugin(`configureBundler(${options})`))).toMatch(
    /^SetupError: @temporalio\/workflow .* and @temporalio\/workflow .* are loaded/,
  );
});

/** An app with Holdfast and one copy of the SDK that says it has this version. */
function addApp(version: string): string {
  const packages = path.join(folder, 'node_modules');
  mkdirSync(path.join(packages, '@temporalio'), { recursive: true });
  for (const name of readdirSync(path.join(root, 'node_modules')))
    if (name !== '@temporalio' && !name.startsWith('.'))
      symlinkSync(path.join(root, 'node_modules', name), path.join(packages, name));
  for (const name of readdirSync(path.join(root, 'node_modules', '@temporalio'))) {
    const from = path.join(root, 'node_modules', '@temporalio', name);
    const to = path.join(packages, '@temporalio', name);
    if (!['activity', 'client', 'common'].includes(name)) symlinkSync(from, to);
    else {
      cpSync(from, to, { recursive: true });
      const manifest = readFileSync(path.join(to, 'package.json'), 'utf8');
      const changed = { ...(JSON.parse(manifest) as object), version };
      writeFileSync(path.join(to, 'package.json'), JSON.stringify(changed));
    }
  }
  cpSync(path.join(root, 'dist'), path.join(folder, 'holdfast'), { recursive: true });
  return path.join(folder, 'holdfast', 'index.js');
}

test('an unsupported version is refused', () => {
  const entry = JSON.stringify(addApp('1.23.0'));
  expect(rejection(`await require(${entry}).connect(${nowhere})`)).toMatch(
    /^ClientError: Version 1\.23\.0 of Temporal's SDK is loaded; Holdfast needs \^1\.24\.0/,
  );
});

test('a newer version is warned of once, and used', () => {
  const entry = JSON.stringify(addApp('1.25.0'));
  const printed = rejection(
    `process.on('warning', ({ message }) => console.log('warning: ' + message));
    const { connect } = require(${entry});
    await connect(${nowhere}).catch(() => {});
    await connect(${nowhere})`,
  );
  expect(printed.match(/warning: Version 1\.25\.0 .* was tested with 1\.24\.0/g)).toHaveLength(1);
  expect(printed).toMatch(/^ClientError: Temporal does not answer/m);
});
