/** The floor and its relatives (floor-workflows.ts). Their store is a map in the worker. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import * as client from '@temporalio/client';
import * as proto from '@temporalio/proto';
import * as worker from '@temporalio/worker';
import { version } from '@temporalio/worker/package.json';
import type { Engine, EngineContext } from './engine';
import type { FloorActivities } from './floor-workflows';

/** Values that the map may hold before it is emptied. */
const maxStored = 5_000;

function floorActivities({ script, lookup }: EngineContext): FloorActivities {
  const store = new Map<string, unknown>();
  const put = (ref: string, value: unknown): string => {
    if (store.size > maxStored) store.clear();
    store.set(ref, value);
    return ref;
  };
  return {
    model: (iterations, index) => {
      const call = script.callAfter(index, { iterations, resultBytes: 0 });
      const ref = put(`a${index}`, call ?? script.answer);
      return Promise.resolve(call === undefined ? { done: true, ref } : { ref });
    },
    tool: async (ref, size) => put(ref.replace('a', 't'), await lookup(Number(ref.slice(1)), size)),
    naiveModel: (messages) => {
      const task = script.taskIn(messages[1]?.content ?? '');
      const call = script.callAfter((messages.length - 2) / 2, task);
      return Promise.resolve(
        call === undefined
          ? { role: 'assistant', content: script.answer }
          : { role: 'assistant', content: '', toolCall: { ...call, name: 'lookup' } },
      );
    },
    naiveTool: ({ k, size }) => lookup(k, size),
  };
}

function workflowsFile(): string {
  const stem = path.join(__dirname, 'floor-workflows');
  return existsSync(`${stem}.js`) ? `${stem}.js` : `${stem}.ts`;
}

/** Makes the engine whose workflow has the variant's name. */
export function makeEngine(context: EngineContext): Engine {
  const { variant, script, makeTemporalEngine } = context;
  return makeTemporalEngine(context, {
    packages: { worker, client, proto },
    versions: { '@temporalio/worker': version },
    workflowsPath: workflowsFile(),
    activities: floorActivities(context),
    workflowFor: (task) => ({
      type: variant,
      args:
        variant === 'naive'
          ? [script.system, script.goalOf(task)]
          : [task.iterations, task.resultBytes],
    }),
  });
}
