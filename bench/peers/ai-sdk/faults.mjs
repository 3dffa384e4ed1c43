// `@temporalio/ai-sdk` under the faults of the scorecard, with the settings of its documentation.
import { fileURLToPath } from 'node:url';
import { createOpenAI } from '@ai-sdk/openai';
import { AiSdkPlugin } from '@temporalio/ai-sdk';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { bookingActivities } from './booking.mjs';

const { address, taskQueue, baseUrl, serviceUrl } = JSON.parse(process.argv[2]);
Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
});

// A model's name carries its run, so that each run has a vendor of its own.
const modelProvider = {
  specificationVersion: 'v4',
  languageModel: (name) => {
    const [mount, model] = name.split('/');
    return createOpenAI({ apiKey: 'scorecard', baseURL: `${baseUrl}/${mount}/v1` })(model);
  },
};

const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowsPath: fileURLToPath(new URL('./fault-workflows.mjs', import.meta.url)),
  activities: bookingActivities(serviceUrl),
  plugins: [new AiSdkPlugin({ modelProvider })],
});
const client = new Client({ connection: await Connection.connect({ address }) });
void worker.run();
process.on('message', ({ run }) => {
  client.workflow
    .start('faultAgent', { workflowId: `${taskQueue}-${run}`, taskQueue, args: [run] })
    .then(
      () => process.send({ run, started: true }),
      (error) => process.send({ run, status: 'failed', message: String(error) }),
    );
});
process.once('disconnect', () => process.exit(0));
process.send({ ready: true });
