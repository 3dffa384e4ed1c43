// `@temporalio/ai-sdk` as its documentation shows it, with a scripted language model. Loaded by bench/speed/engine/main.ts.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AiSdkPlugin } from '@temporalio/ai-sdk';
import * as client from '@temporalio/client';
import proto from '@temporalio/proto';
import * as worker from '@temporalio/worker';

const here = (file) => new URL(file, import.meta.url);
const versionOf = (name) =>
  JSON.parse(readFileSync(here(`./node_modules/${name}/package.json`), 'utf8')).version;

const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

function scriptedModel({ taskIn, callAfter, answer }) {
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const user = prompt.find(({ role }) => role === 'user');
      const done = prompt.filter(({ role }) => role === 'tool').length;
      const call = callAfter(done, taskIn(user.content[0].text));
      const [content, finishReason] =
        call === undefined
          ? [
              { type: 'text', text: answer },
              { unified: 'stop', raw: 'stop' },
            ]
          : [
              {
                type: 'tool-call',
                toolCallId: call.id,
                toolName: 'lookup',
                input: JSON.stringify(call.input),
              },
              { unified: 'tool-calls', raw: 'tool_calls' },
            ];
      return { content: [content], finishReason, usage, warnings: [] };
    },
  };
}

export function makeEngine(context) {
  const { script, lookup, makeTemporalEngine } = context;
  const model = scriptedModel(script);
  const modelProvider = { specificationVersion: 'v4', languageModel: () => model };
  return makeTemporalEngine(context, {
    packages: { worker, client, proto },
    versions: {
      '@temporalio/ai-sdk': versionOf('@temporalio/ai-sdk'),
      ai: versionOf('ai'),
      '@temporalio/worker': versionOf('@temporalio/worker'),
    },
    workflowsPath: fileURLToPath(here('./workflows.mjs')),
    activities: { lookup: ({ k, size }) => lookup(k, size) },
    plugins: [new AiSdkPlugin({ modelProvider })],
    workflowFor: (task) => ({
      type: 'aiSdkAgent',
      args: [script.system, script.toolDescription, script.goalOf(task), task.iterations + 10],
    }),
  });
}
