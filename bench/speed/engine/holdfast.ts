/** The product as it ships: `createWorker`, a SQLite store, `agentRun`; only the model is a script. The variant is the kind of its tool. */
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import * as proto from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { version as sdkVersion } from '@temporalio/worker/package.json';
import { z } from 'zod';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { createActivities } from '../../../activities/index';
import type { ModelRequest, Provider } from '../../../activities/providers/provider';
import { openStore } from '../../../activities/stores/open-store';
import { defineTool } from '../../../activities/tools/define-tool';
import type { ScriptedStep } from '../../../testing/scripted-provider';
import { scriptedProvider } from '../../../testing/scripted-provider';
import { createWorker } from '../../../workers/worker';
import { connectWorker } from '../../../workers/worker-connection';
import { loadWorkflowBundle } from '../../../workers/workflow-bundle';
import { agentRunWorkflow } from '../../../workflows/contract';
import type { Engine, EngineContext, ServingEngine } from './engine';
import { replayAll } from './temporal-engine';

/** What `lookup` says of itself, by variant. */
const kinds = {
  keyed: { effect: 'keyed' },
  read: { effect: 'read' },
  quick: { effect: 'read', quick: true },
} as const;

/** Far beyond what the benchmark asks for, so that only the script ends a run. */
const limits = {
  maxIterations: 100_000,
  maxEvents: 1_000_000,
  maxToolCalls: 100_000,
  maxActiveMs: 86_400_000,
} as const;

/** Longer than any conversation here: compaction has a benchmark of its own. */
const windowTokens = 10_000_000;

function scriptedModel({ script }: EngineContext): Provider {
  const step = ({ messages }: ModelRequest): ScriptedStep => {
    const task = script.taskIn(JSON.stringify(messages[0]));
    const done = messages.filter(({ role }) => role === 'assistant').length;
    const call = script.callAfter(done, task);
    if (call === undefined) return { text: script.answer };
    return { toolCalls: [{ name: 'lookup', input: call.input }] };
  };
  const make = () => scriptedProvider('scripted', step);
  // One for each request, since a scripted provider keeps what it was asked.
  return { ...make(), send: (request, options) => make().send(request, options) };
}

function agentOf({ variant, script, lookup }: EngineContext): AgentDefinition {
  return {
    name: variant,
    instructions: script.system,
    chain: [{ provider: 'scripted', model: 'scripted', windowTokens }],
    tools: [
      defineTool({
        name: 'lookup',
        description: script.toolDescription,
        input: z.object({ k: z.number(), size: z.number() }),
        ...kinds[variant as keyof typeof kinds],
        execute: ({ k, size }) => lookup(k, size),
      }),
    ],
    limits,
  };
}

async function serve(context: EngineContext): Promise<ServingEngine> {
  const { address, taskQueue, directory, script } = context;
  const agent = agentOf(context);
  const store = await openStore(`sqlite:${path.join(directory, `${taskQueue}.db`)}`);
  const connection = await connectWorker({ address });
  const worker = await createWorker({
    connection,
    taskQueue,
    cacheDirectory: directory,
    activities: createActivities({ store, providers: [scriptedModel(context)], agents: [agent] }),
  });
  const running = worker.run();
  const client = new Client({ connection: await Connection.connect({ address }) });
  return {
    run: async (workflowId, task) => {
      const request = { agent: agent.name, goal: script.goalOf(task) };
      await client.workflow.execute(agentRunWorkflow, {
        taskQueue,
        workflowId,
        args: [{ request }],
      });
    },
    stop: async () => {
      worker.shutdown();
      await running;
      await store.close();
    },
  };
}

/** Makes the engine whose `lookup` is of the variant's kind. */
export function makeEngine(context: EngineContext): Engine {
  const cacheDirectory = context.directory;
  return {
    versions: { '@temporalio/worker': sdkVersion },
    prepare: async () => {
      await loadWorkflowBundle({ cacheDirectory });
    },
    serve: () => serve(context),
    replay: async (histories) => {
      const { code } = await loadWorkflowBundle({ cacheDirectory });
      await replayAll(histories, { workflowBundle: { code } }, { Worker }, proto);
    },
  };
}
