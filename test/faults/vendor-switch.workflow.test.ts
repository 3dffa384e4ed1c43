/** A run that changes vendor at every one of its 20 iterations, both ways: no vendor refuses what the other has left behind, or loses its cache. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import { defaultLimits } from '../../workflows/core/limits';
import type { AgentWorld } from '../support/agent-world';
import { brokenPrefixes } from '../support/prompt-prefix';
import { otherModel, startAgentWorld, testModel } from '../support/agent-world';

const iterations = 20;

const echo = defineTool({
  name: 'echo',
  description: 'Returns the text, or fails with it.',
  input: z.object({ text: z.string(), fail: z.boolean().optional() }),
  effect: 'read',
  execute: ({ text, fail }) => {
    if (fail === true) throw new ToolError(text);
    return text;
  },
});

let world: AgentWorld;
beforeAll(async () => {
  const agent = (name: string, spare: string): AgentDefinition => ({
    name,
    instructions: 'You echo.',
    chain: [
      { provider: 'anthropic', model: testModel },
      { provider: spare, model: otherModel },
    ],
    tools: [echo],
    limits: {
      maxIterations: iterations + 1,
      streamRetries: 0,
      // The primary may be tried again at the next iteration, where it answers.
      cooldownMs: { ...defaultLimits.cooldownMs, overloaded: 1 },
    },
  });
  world = await startAgentWorld([agent('by-responses', 'openai'), agent('by-chat', 'chat')]);
});
afterAll(() => world.dispose());

/** Two parallel calls, one of which fails every third time, after some reasoning. */
function work(iteration: number): Step {
  return reply.parts([
    { type: 'reasoning', text: `thinking about ${iteration}` },
    { type: 'text', text: `step ${iteration}` },
    ...[0, 1].map((index) => ({
      type: 'tool-call' as const,
      name: 'echo',
      argumentsText: JSON.stringify({
        text: `${iteration}.${index}`,
        ...(index === 1 && iteration % 3 === 0 ? { fail: true } : {}),
      }),
    })),
  ]);
}

test.each(['by-responses', 'by-chat'])('switches to and fro %s', async (agent) => {
  const before = world.emulator.requests.length;
  const answeredBy: RecordedRequest['wire'][] = [];
  world.emulator.clearScripts();
  world.emulator.script((request) => {
    const iteration = answeredBy.length + 1;
    if (request.wire === 'anthropic' && iteration % 2 === 0) return fault.http(529);
    answeredBy.push(request.wire);
    return iteration > iterations ? reply.text('done') : work(iteration);
  });
  const outcome = await world.run({ agent, goal: 'Echo.' });
  expect(outcome).toMatchObject({
    status: 'completed',
    report: { iterations: iterations + 1, failovers: iterations / 2 },
  });
  const sent = world.emulator.requests.slice(before);
  expect(sent.filter(({ answer }) => answer.type === 'refused')).toEqual([]);
  // Back at a vendor, the prompt begins as it ended there.
  for (const model of [testModel, otherModel])
    expect(brokenPrefixes(sent.filter((request) => request.model === model))).toEqual([]);
  const spare = agent === 'by-chat' ? 'chat' : 'responses';
  expect(answeredBy).toEqual(
    Array.from({ length: iterations + 1 }, (_, index) => (index % 2 === 0 ? 'anthropic' : spare)),
  );
});
