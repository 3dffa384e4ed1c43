// `@temporalio/openai-agents` under the faults of the scorecard, with the settings of its documentation.
import { fileURLToPath } from 'node:url';
import { OpenAIProvider } from '@openai/agents-openai';
import { setTracingDisabled } from '@openai/agents-core';
import { Client, Connection } from '@temporalio/client';
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { bookingActivities } from './booking.mjs';

const { address, taskQueue, baseUrl, serviceUrl } = JSON.parse(process.argv[2]);
setTracingDisabled(true);
Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
});

// A model's name carries its run, so that each run has a vendor of its own.
const modelProvider = {
  getModel: (name) => {
    const [mount, model] = name.split('/');
    const provider = new OpenAIProvider({
      apiKey: 'scorecard',
      baseURL: `${baseUrl}/${mount}/v1`,
      useResponses: true,
    });
    return provider.getModel(model);
  },
};
const plugin = () =>
  new OpenAIAgentsPlugin({ modelProvider, modelParams: { startToCloseTimeout: '15s' } });

const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowsPath: fileURLToPath(new URL('./fault-workflows.mjs', import.meta.url)),
  bundlerOptions: {
    webpackConfigHook: (config) => ({
      ...config,
      resolve: { ...config.resolve, conditionNames: ['require', 'browser', 'default'] },
    }),
  },
  activities: bookingActivities(serviceUrl),
  plugins: [plugin()],
});
const client = new Client({
  connection: await Connection.connect({ address }),
  plugins: [plugin()],
});
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
