/** A worker's share of a store test, as a process of its own: `node store-child.cjs <url> <job> [argument]`. */
const path = require('node:path');
const { createEncryption, openStore } = require(
  path.join(__dirname, '..', '..', 'dist', 'activities', 'index.js'),
);

const [url, job, argument] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
const message = (text) => [{ role: 'user', blocks: [{ type: 'text', text }] }];

const jobs = {
  /** Says the store's id. */
  id: (store) => say(store.id),
  /** Appends so many nodes of a chain of its own, and says each head once it is stored. */
  async append(store) {
    let head;
    for (let n = 0; n < Number(argument); n += 1) {
      head = await store.appendNode(head, message(`${process.pid} ${n} ${'x'.repeat(500)}`));
      say(head);
    }
  },
  /** Begins and starts so many tool executions as an attempt scheduled then, and says of each what it found and whether it started it. */
  async start(store) {
    const [count, scheduledAtMs] = argument.split(' ').map(Number);
    for (let n = 0; n < count; n += 1) {
      const intent = { key: `key-${n}`, tool: 'pay', inputDigest: 'd', startedAtMs: process.pid };
      const { type, owner = '' } = await store.beginTool(intent, scheduledAtMs);
      say(`${type} ${await store.moveTool(intent.key, owner, 'executing')}`);
    }
  },
  /** Says that it is ready, waits for a line on stdin, asks to probe so many routes, says which it may, and fails as often. */
  async probe(store) {
    say('ready');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    process.stdin.pause();
    const failure = { reason: 'rate_limit', message: 'm', status: 'down' };
    const times = { cooldownUntilMs: 0, probeFromMs: 0, atMs: 1 };
    for (let n = 0; n < Number(argument); n += 1) {
      const request = { route: `route-${n}`, holder: String(process.pid), atMs: 1, untilMs: 2 };
      if (await store.acquireProbe(request)) say(request.route);
      await store.reportFailure({ route: 'shared/route', ...failure, ...times });
    }
  },
  /** Takes the probe of a route, says so, and stays until it is killed. */
  async hold(store) {
    const until = { atMs: 1_000, untilMs: 2_000 };
    say(await store.acquireProbe({ route: argument, holder: 'victim', ...until }));
    await new Promise((resolve) => process.stdin.once('data', resolve));
  },
  /** Appends until the file cannot grow, says why, waits for a line on stdin, and appends again. */
  async fill(store) {
    let head;
    try {
      for (;;) {
        const next = await store.appendNode(head, message('x'.repeat(100_000)));
        head = next;
      }
    } catch (error) {
      say(JSON.stringify(error.failure ?? String(error)));
    }
    await new Promise((resolve) => process.stdin.once('data', resolve));
    process.stdin.pause();
    say(await store.appendNode(head, message('after'.repeat(50_000))));
  },
};

const keyOne = process.env.STORE_TEST_KEY;
const encryption = keyOne && createEncryption({ keyId: 'one', keys: { one: keyOne } });

openStore(url, encryption ? { encryption } : {})
  .then(async (store) => {
    await jobs[job](store);
    await store.close();
  })
  .catch((error) => {
    say(JSON.stringify(error.failure ?? String(error)));
    process.exitCode = 1;
  });
