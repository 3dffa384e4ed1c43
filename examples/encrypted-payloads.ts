/** Example: nothing readable in Temporal or in the store. Workers, clients and commands share the keys. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@temporalio/client';
import type { AgentDefinition, Encryption, Store } from '../activities/index';
import { createActivities, createEncryption, openStore } from '../activities/index';
import { AgentClient } from '../client/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

/** The keys of a deployment: `keyId` encrypts, the others only decrypt what was written before. */
export function encryptionOf(keys: Readonly<Record<string, string>>, keyId: string): Encryption {
  return createEncryption({ keyId, keys });
  // Or of a key management service: createEncryption({ keyId, keys: (id) => decryptedDataKey(id) })
}

const keeper: AgentDefinition = {
  name: 'keeper',
  instructions: 'You keep secrets.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  tools: [],
};

/** Runs an agent with this store. */
async function askKeeper(
  { connection, temporalClient, taskQueue, provider }: OfflineWorld,
  encryption: Encryption,
  store: Store,
): Promise<{ readonly runId: string; readonly answer: string }> {
  const worker = await createWorker({
    connection,
    taskQueue,
    encryption,
    activities: createActivities({ store, providers: [provider], agents: [keeper] }),
  });
  // connect({ encryption }) does the same with a connection of its own.
  const { dataConverter } = encryption;
  const client = new AgentClient(
    new Client({ connection: temporalClient.connection, dataConverter }),
    { taskQueue },
  );
  return worker.runUntil(async () => {
    const run = await client.start({ agent: 'keeper', goal: 'Where is the treasure?' });
    const result = await run.result();
    const answer = result.status === 'completed' ? result.answer : result.status;
    return { runId: run.runId, answer };
  });
}

/** Runs an agent, and returns its answer and whether whoever reads Temporal or the store's files could have read it. */
export async function keepSecret(
  world: OfflineWorld,
): Promise<{ readonly answer: string; readonly isReadable: boolean }> {
  world.emulator.script([reply.text('The treasure is under the old oak.')]);
  const encryption = encryptionOf({ '2026-11': randomBytes(32).toString('base64') }, '2026-11');
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-encrypted-'));
  const store = await openStore(path.join(folder, 'store.db'), { encryption });
  try {
    const { runId, answer } = await askKeeper(world, encryption, store);
    const { events } = await world.temporalClient.workflow.getHandle(runId).fetchHistory();
    const files = (await readdir(folder)).map((name) => readFile(path.join(folder, name)));
    const kept = Buffer.concat([
      Buffer.from(JSON.stringify(events)),
      ...(await Promise.all(files)),
    ]);
    return { answer, isReadable: kept.includes('treasure') };
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  console.log(await inOfflineWorld('encrypted-payloads', keepSecret));
}

if (require.main === module) runAsProgram(main);
