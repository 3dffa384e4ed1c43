// `@temporalio/openai-agents` as its documentation shows it, with a scripted model. Loaded by bench/speed/engine/main.ts.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Usage } from '@openai/agents-core';
import * as client from '@temporalio/client';
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents';
import proto from '@temporalio/proto';
import * as worker from '@temporalio/worker';

const here = (file) => new URL(file, import.meta.url);
const versionOf = (name) =>
  JSON.parse(readFileSync(here(`./node_modules/${name}/package.json`), 'utf8')).version;

function scriptedModel({ taskIn, callAfter, answer }) {
  return {
    async getResponse({ input }) {
      const user = input.find(({ role }) => role === 'user');
      const done = input.filter(({ type }) => type === 'function_call_result').length;
      const call = callAfter(done, taskIn(JSON.stringify(user.content)));
      const item =
        call === undefined
          ? {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: answer }],
            }
          : {
              type: 'function_call',
              name: 'lookup',
              callId: call.id,
              arguments: JSON.stringify(call.input),
              status: 'completed',
            };
      const usage = new Usage({
        requests: 1,
        inputTokens: 100,
        outputTokens: 10,
        totalTokens: 110,
      });
      return { output: [item], usage };
    },
    async *getStreamedResponse() {
      throw new Error('The benchmark streams nothing.');
    },
  };
}

export function makeEngine(context) {
  const { script, lookup, makeTemporalEngine } = context;
  const model = scriptedModel(script);
  const options = { modelProvider: { getModel: () => model } };
  return makeTemporalEngine(context, {
    packages: { worker, client, proto },
    versions: {
      '@temporalio/openai-agents': versionOf('@temporalio/openai-agents'),
      '@openai/agents-core': versionOf('@openai/agents-core'),
      '@temporalio/worker': versionOf('@temporalio/worker'),
    },
    workflowsPath: fileURLToPath(here('./workflows.mjs')),
    bundlerOptions: {
      // As in Temporal's sample: keeps webpack away from ES modules that use import.meta.
      webpackConfigHook: (config) => ({
        ...config,
        resolve: { ...config.resolve, conditionNames: ['require', 'browser', 'default'] },
      }),
    },
    activities: { lookup: ({ k, size }) => lookup(k, size) },
    plugins: [new OpenAIAgentsPlugin(options)],
    clientPlugins: [new OpenAIAgentsPlugin(options)],
    workflowFor: (task) => ({
      type: 'openaiAgent',
      args: [script.system, script.toolDescription, script.goalOf(task), task.iterations + 10],
    }),
  });
}
