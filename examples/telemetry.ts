/** Example: traces of a worker's runs, by OpenTelemetry's own variables. */
import type { AgentDefinition } from '../activities/index';
import { createActivities } from '../activities/index';
import type { RunResult } from '../client/index';
import { startTelemetry } from '../telemetry/index';
import { reply } from '../testing/index';
import type { Environment } from '../workers/index';
import { createWorker, readEnvironment } from '../workers/index';
import { inOfflineWorld, runAsProgram } from './offline-world';

const greeter: AgentDefinition = {
  name: 'greeter',
  instructions: 'You greet whoever is named, in one sentence.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
  tools: [],
};

/** Runs one run on a worker with telemetry, if the environment asks for it, and sends what was seen. */
export async function greetTraced(
  environment: Environment = readEnvironment(),
): Promise<RunResult> {
  const telemetry = await startTelemetry(environment);
  return inOfflineWorld(
    'telemetry',
    async ({ connection, client, taskQueue, store, provider, emulator }) => {
      emulator.script([reply.text('Hello, Ada!')]);
      const worker = await createWorker(
        telemetry.configureWorker({
          connection,
          taskQueue,
          cacheDirectory: environment.cacheDirectory,
          activities: createActivities({ store, providers: [provider], agents: [greeter] }),
        }),
      );
      try {
        return await worker.runUntil(async () => {
          const run = await client.start({ agent: 'greeter', goal: 'Greet Ada.' });
          return run.result();
        });
      } finally {
        await telemetry.shutdown();
      }
    },
    environment,
  );
}

async function main(): Promise<void> {
  const result = await greetTraced();
  console.log(result.status === 'completed' ? result.answer : result);
}

if (require.main === module) runAsProgram(main);
