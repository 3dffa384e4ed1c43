/** A model reads the fields of inputs and answers in the order of their author: what it is told first, it fills in first. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import type { ModelRequest } from '../../activities/providers/provider';
import { createActivities } from '../../activities/index';
import { defineTool } from '../../activities/tools/define-tool';
import { scriptedProvider } from '../../testing/scripted-provider';
import { temporaryStore } from '../support/temporary-store';

it('sends the fields of schemas in the order in which they were defined', async () => {
  const stored = await temporaryStore();
  const asked: ModelRequest[] = [];
  const provider = scriptedProvider('scripted', (request) => {
    asked.push(request);
    return { text: '{"reasoning":"","answer":""}' };
  });
  const place = z.object({ street: z.string(), city: z.string() });
  const activities = createActivities({
    store: stored.store,
    providers: [provider],
    agents: [
      {
        name: 'clerk',
        instructions: 'You work.',
        chain: [{ provider: 'scripted', model: 'm', windowTokens: 10_000 }],
        tools: [
          defineTool({
            name: 'send',
            description: 'Sends a parcel.',
            input: z.object({ to: place, from: place, pieces: z.number() }),
            effect: 'keyed',
            execute: () => 'sent',
          }),
        ],
        output: z.object({ reasoning: z.string(), answer: z.string() }),
      },
    ],
  });
  const { snapshot, head } = await activities.prepareRun({
    flags: [],
    agent: 'clerk',
    goal: 'Go.',
  });
  const { storeId, definition } = snapshot;
  await new MockActivityEnvironment().run(() =>
    activities.callModel({
      ...{ storeId, definition, head, routeIndex: 0, iteration: 1, idPrefix: 'run' },
    }),
  );
  const fieldsOf = (schema: unknown): readonly string[] =>
    Object.keys((schema as { readonly properties: object }).properties);
  const [request] = asked;
  const input = request?.tools[0]?.inputSchema;
  expect(fieldsOf(input)).toEqual(['to', 'from', 'pieces']);
  const { to } = input?.['properties'] as { readonly to: unknown };
  expect(fieldsOf(to)).toEqual(['street', 'city']);
  expect(fieldsOf(request?.output?.schema)).toEqual(['reasoning', 'answer']);
  await stored.dispose();
});
