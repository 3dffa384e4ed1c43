/** Process of one engine: serves runs, or replays histories, and reports what they took. Ends with the benchmark. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type {
  Engine,
  EngineMessage,
  EngineModule,
  EngineOrder,
  EngineReport,
  EngineSettings,
  ServingEngine,
} from './engine';
import { Gate } from './gate';
import { script } from './script';
import { makeTemporalEngine } from './temporal-engine';

const gate = new Gate();
let heldRuns: Promise<unknown> = Promise.resolve();

/** For peers of the benchmark, which are ES modules beside their own packages. */
async function load(file: string): Promise<EngineModule> {
  if (file.endsWith('.mjs')) return (await import(pathToFileURL(file).href)) as EngineModule;
  return createRequire(__filename)(file) as EngineModule;
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
}

async function carryOut(
  order: EngineOrder,
  engine: Engine,
  serving: ServingEngine | undefined,
): Promise<void> {
  if (order.type === 'replay') return engine.replay(order.histories);
  if (serving === undefined) throw new Error(`A process that replays takes no "${order.type}".`);
  const runAll = ({ workflowIds, task }: Extract<EngineOrder, { task: unknown }>) =>
    Promise.all(workflowIds.map((workflowId) => serving.run(workflowId, task)));
  switch (order.type) {
    case 'run':
      await runAll(order);
      return;
    case 'hold': {
      gate.close(order.k);
      const runs = runAll(order);
      heldRuns = Promise.all([heldRuns, runs]);
      heldRuns.catch(() => undefined);
      await Promise.race([gate.holds(order.held), runs]);
      collectGarbage();
      return;
    }
    case 'release':
      gate.open();
      await heldRuns;
      return;
    case 'stop':
      await serving.stop();
  }
}

async function report(work: () => Promise<void>): Promise<EngineReport> {
  const startedAtMs = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return {
    wallMs: performance.now() - startedAtMs,
    workerCpuMs: (user + system) / 1000,
    residentBytes: process.memoryUsage.rss(),
    peakBytes: process.resourceUsage().maxRSS * 1024,
  };
}

function say(message: EngineMessage): Promise<void> {
  return new Promise((resolve) =>
    process.send?.(message, undefined, undefined, () => {
      resolve();
    }),
  );
}

/** With what caused it, in one line. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const cause = thrown.cause === undefined ? '' : ` (${reasonOf(thrown.cause)})`;
  return `${thrown.message}${cause}`;
}

async function main(settings: EngineSettings): Promise<void> {
  const { makeEngine } = await load(settings.file);
  const engine = makeEngine({
    ...settings,
    script,
    makeTemporalEngine,
    lookup: async (k, size) => {
      await gate.pass(k);
      return script.recordOf(k, size);
    },
  });
  if (settings.mode === 'prepare') await engine.prepare();
  const serving = settings.mode === 'serve' ? await engine.serve() : undefined;
  process.on('message', (order: EngineOrder) => {
    void report(() => carryOut(order, engine, serving))
      .then(
        (done) => say({ type: 'done', report: done }),
        (thrown: unknown) => say({ type: 'failed', reason: reasonOf(thrown) }),
      )
      .then(() => {
        if (order.type === 'stop') process.exit(0);
      });
  });
  await say({ type: 'ready', versions: engine.versions });
}

process.once('disconnect', () => process.exit(1));
main(JSON.parse(process.argv[2] ?? '{}') as EngineSettings).catch(async (thrown: unknown) => {
  await say({ type: 'failed', reason: reasonOf(thrown) });
  process.exit(1);
});
