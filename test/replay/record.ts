/**
 * Records the history of each scenario that has none of this version yet: `npm run record-histories`. A recording is
 * never made again. `-- 0.4.0 one two` records only the scenarios `one` and `two`, as of a version to come.
 */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { WorkflowFailedError } from '@temporalio/client';
import { version as currentVersion } from '../../package.json';
import { startEmbeddedServer } from '../../workers/temporal-server/embedded-server';
import type { AgentWorld, RunHandle } from '../support/agent-world';
import { startAgentWorld } from '../support/agent-world';
import { connectTo } from '../support/temporal';
import { rollOverScenario, rollOverSteps } from './roll-over-scenario';
import { safetyAgents, safetyScenarios } from './safety-scenarios';
import { featureAgents, featureNotifiers, featureScenarios } from './feature-scenarios';
import { scenarioAgents, scenarios } from './scenarios';

const directory = path.join(__dirname, 'histories');

const [version = currentVersion, ...names] = process.argv.slice(2);

function isWanted(name: string): boolean {
  return (names.length === 0 || names.includes(name)) && !existsSync(fileOf(name));
}

function fileOf(name: string): string {
  return path.join(directory, `${name}-v${version}.json`);
}

async function save(
  world: AgentWorld,
  name: string,
  workflowId: string,
  runId?: string,
): Promise<void> {
  const run = world.server.client.getHandle(workflowId, runId);
  const history = historyToJSON(await run.fetchHistory());
  await writeFile(fileOf(name), `${JSON.stringify(JSON.parse(history))}\n`);
  process.stdout.write(`recorded ${name}\n`);
}

async function ended(handle: RunHandle): Promise<void> {
  await handle.result().catch((thrown: unknown) => {
    if (!(thrown instanceof WorkflowFailedError)) throw thrown;
  });
}

async function recordAll(world: AgentWorld): Promise<void> {
  for (const scenario of [...scenarios, ...featureScenarios, ...safetyScenarios]) {
    if (!isWanted(scenario.name)) continue;
    world.emulator.clearScripts();
    world.emulator.script(scenario.steps);
    const handle = await world.start(scenario.request);
    await scenario.act?.(handle);
    await ended(handle);
    world.emulator.assertDrained();
    await save(world, scenario.name, handle.workflowId);
    for (const [callId, name] of Object.entries(scenario.children ?? {}))
      await save(world, name, `${handle.workflowId}/${callId}`);
  }
  await recordRollOver(world);
}

/** A roll-over gives one history per segment. */
async function recordRollOver(world: AgentWorld): Promise<void> {
  if (!isWanted('rolled-over-1')) return;
  world.emulator.clearScripts();
  world.emulator.script(rollOverSteps);
  const handle = await world.start(rollOverScenario);
  await ended(handle);
  let runId: string | undefined = await firstRunId(world, handle);
  for (let segment = 1; runId !== undefined && segment <= 2; segment += 1) {
    await save(world, `rolled-over-${segment}`, handle.workflowId, runId);
    runId = await successor(world, handle.workflowId, runId);
  }
}

async function firstRunId(world: AgentWorld, handle: RunHandle): Promise<string | undefined> {
  const described = await world.server.client.getHandle(handle.workflowId).describe();
  return described.raw.workflowExecutionInfo?.firstRunId ?? undefined;
}

async function successor(
  world: AgentWorld,
  workflowId: string,
  runId: string,
): Promise<string | undefined> {
  const history = await world.server.client.getHandle(workflowId, runId).fetchHistory();
  const last = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes;
  return last?.newExecutionRunId ?? undefined;
}

async function main(): Promise<void> {
  await mkdir(directory, { recursive: true });
  // A server that asks for a new segment soon, so that a short run rolls over.
  const embedded = await startEmbeddedServer({
    untilExitOf: process.pid,
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 60 },
  });
  const world = await startAgentWorld([...scenarioAgents, ...featureAgents, ...safetyAgents], {
    server: await connectTo(embedded),
    notifiers: featureNotifiers,
  });
  try {
    await recordAll(world);
  } finally {
    await world.dispose();
    await embedded.stop();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  },
);
