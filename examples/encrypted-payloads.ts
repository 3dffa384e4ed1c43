/** Example: nothing readable in Temporal's history. Workers, clients and commands share one data converter. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import type { DataConverter, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { AgentDefinition } from '../activities/index';
import { createActivities } from '../activities/index';
import { AgentClient } from '../client/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

const { Payload } = temporal.api.common.v1;
const encoding = 'binary/encrypted';
const [ivBytes, tagBytes] = [12, 16];

/** AES-256 in GCM mode over whole payloads. What others wrote, or wrote before, stays readable. */
function encryption(key: Buffer): PayloadCodec {
  return {
    encode: (payloads) =>
      Promise.resolve(
        payloads.map((payload) => {
          const iv = randomBytes(ivBytes);
          const cipher = createCipheriv('aes-256-gcm', key, iv);
          const sealed = [cipher.update(Payload.encode(payload).finish()), cipher.final()];
          const data = Buffer.concat([iv, ...sealed, cipher.getAuthTag()]);
          return { metadata: { encoding: Buffer.from(encoding) }, data };
        }),
      ),
    decode: (payloads) =>
      Promise.resolve(
        payloads.map((payload) => {
          const { metadata, data } = payload;
          if (Buffer.from(metadata?.['encoding'] ?? []).toString() !== encoding) return payload;
          const sealed = Buffer.from(data ?? []);
          const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivBytes));
          decipher.setAuthTag(sealed.subarray(-tagBytes));
          const opened = decipher.update(sealed.subarray(ivBytes, -tagBytes));
          return Payload.decode(Buffer.concat([opened, decipher.final()]));
        }),
      ),
  };
}

/** What `createWorker`, `connect` and HOLDFAST_DATA_CONVERTER take. The key has 64 hexadecimal digits. */
export function encryptedBy(key: string): DataConverter {
  return { payloadCodecs: [encryption(Buffer.from(key, 'hex'))] };
}

const keeper: AgentDefinition = {
  name: 'keeper',
  instructions: 'You keep secrets.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  tools: [],
};

/** Runs an agent, and returns its answer and whether Temporal's server could have read it. */
export async function keepSecret(
  world: OfflineWorld,
): Promise<{ readonly answer: string; readonly isReadable: boolean }> {
  const { connection, temporalClient, taskQueue, store, provider, emulator } = world;
  emulator.script([reply.text('The treasure is under the old oak.')]);
  const dataConverter = encryptedBy(randomBytes(32).toString('hex'));
  const worker = await createWorker({
    connection,
    taskQueue,
    dataConverter,
    activities: createActivities({ store, providers: [provider], agents: [keeper] }),
  });
  // connect({ dataConverter }) does the same with a connection of its own.
  const client = new AgentClient(
    new Client({ connection: temporalClient.connection, dataConverter }),
    { taskQueue },
  );
  return worker.runUntil(async () => {
    const run = await client.start({ agent: 'keeper', goal: 'Where is the treasure?' });
    const result = await run.result();
    const { events } = await temporalClient.workflow.getHandle(run.runId).fetchHistory();
    return {
      answer: result.status === 'completed' ? result.answer : result.status,
      isReadable: Buffer.from(JSON.stringify(events)).includes('treasure'),
    };
  });
}

async function main(): Promise<void> {
  console.log(await inOfflineWorld('encrypted-payloads', keepSecret));
}

if (require.main === module) runAsProgram(main);
