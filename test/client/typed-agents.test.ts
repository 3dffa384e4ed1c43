/** Types: what a start, a result, `runAgent`, tools and their context infer from a definition. `npm run check` compiles this file. */
import { z } from 'zod';
import { defineAgent, defineSubagent, defineTool } from '../../activities/index';
import type { AgentDefinition, Tool } from '../../activities/index';
import type { AgentClient, RunHandle, RunResult } from '../../client/index';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { AgentRequest, ContextOf, OutputOf } from '../../workflows/core/typed-agent';
import type { runAgent } from '../../workflows/run-agent';
import { customer, listOrders, refund, supportAgent } from '../support/support-agent';

/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters -- TypeScript compares types exactly only as conditions of two functions. */
type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;
/* eslint-enable */

/** Compiles only if both types are the same. */
function expectSame<One, Other>(_isSame: Same<One, Other>): void {
  expect(_isSame).toBe(true);
}

/** Compiles only if the value has this type, with nothing behind it. */
function hasType<Expected>(): <Actual>(
  value: Actual,
  ...other: Same<Actual, Expected> extends true ? [] : ['another type']
) => void {
  return () => undefined;
}

/** Compiled, never run: what it holds is a question to the compiler. */
function compileOnly(_code: (client: AgentClient, run: typeof runAgent) => unknown): void {
  expect(typeof _code).toBe('function');
}

type Support = typeof supportAgent;
const chain = [{ provider: 'anthropic', model: 'claude-sonnet-5' }] as const;
const plain = defineAgent({ name: 'plain', instructions: 'You work.', chain, tools: [] });

describe('a definition', () => {
  test('keeps the types of its name, context, output and tools', () => {
    expectSame<Support['name'], 'support'>(true);
    expectSame<ContextOf<Support>, { customerId: string; plan?: string | undefined }>(true);
    expectSame<OutputOf<Support, 'output'>, { refunded: string[] }>(true);
    expectSame<OutputOf<Support, 'input'>, { refunded?: string[] | undefined }>(true);
    expectSame<
      AgentRequest<Support>['repeatEffects'],
      readonly ('list_orders' | 'refund')[] | undefined
    >(true);
    expectSame<ContextOf<typeof plain>, undefined>(true);
    expectSame<OutputOf<typeof plain, 'output'>, JsonValue | undefined>(true);
    expectSame<ContextOf<AgentDefinition>, unknown>(true);
  });

  test('is an agent for createActivities, whatever its context', () => {
    const agents: readonly AgentDefinition[] = [supportAgent, plain];
    expect(agents.map(({ name }) => name)).toEqual(['support', 'plain']);
  });

  test('refuses at compile time a tool that needs more than its context has', () => {
    compileOnly(() => {
      const context = z.object({ customerId: z.string() });
      const fine = defineAgent({
        name: 'a',
        instructions: 'x',
        chain,
        context,
        tools: [listOrders],
      });
      // @ts-expect-error: `refund` also needs the plan.
      const wrong = defineAgent({ name: 'a', instructions: 'x', chain, context, tools: [refund] });
      // @ts-expect-error: without a context, a tool that needs one has none.
      const none = defineAgent({ name: 'a', instructions: 'x', chain, tools: [listOrders] });
      const field = defineAgent({
        name: 'a',
        // @ts-expect-error: the context has no such field.
        instructions: ({ context: c }) => typeof c.nobody,
        chain,
        context,
        tools: [],
      });
      return [fine, wrong, none, field];
    });
  });

  test('refuses at compile time a subagent that needs more than the parent run has', () => {
    compileOnly(() => {
      const delegate = defineSubagent({
        name: 'd',
        description: 'Delegates.',
        agent: supportAgent,
      });
      hasType<Tool<{ customerId: string; plan?: string | undefined }>>()(delegate);
      const context = z.object({ plan: z.string() });
      const fine = defineAgent({
        name: 'l',
        instructions: 'x',
        chain,
        context: customer,
        tools: [delegate],
      });
      const wrong = defineAgent({
        name: 'l',
        instructions: 'x',
        chain,
        context,
        // @ts-expect-error: the subagent also needs the customer.
        tools: [delegate],
      });
      return [fine, wrong];
    });
  });
});

describe('a tool', () => {
  test('gets what its own schemas say', () => {
    defineTool({
      name: 'typed',
      description: 'Is typed.',
      input: z.object({ count: z.coerce.number() }),
      context: z.object({ since: z.coerce.date() }),
      hint: (...[, , { context }]) => {
        hasType<{ since: Date }>()(context);
        return undefined;
      },
      approval: (input, { context, runId }) => {
        hasType<{ since: Date }>()(context);
        hasType<string>()(runId);
        return input.count > 1;
      },
      execute: (input, { context, tenant }) => {
        hasType<{ count: number }>()(input);
        hasType<{ since: Date }>()(context);
        return tenant;
      },
    });
    defineTool({
      name: 'plain',
      description: 'Has none.',
      input: z.object({}),
      execute: (...[, { context }]) => {
        hasType<undefined>()(context);
        return '';
      },
    });
  });
});

describe('a start', () => {
  const context = { customerId: 'C-1', plan: 'gold' };

  test('by definition, by its type or by name infers the result', () => {
    compileOnly(async (client) => {
      const byDefinition = await client.start(supportAgent, { goal: 'Help.', context });
      hasType<RunHandle<{ refunded: string[] }>>()(byDefinition);
      const byType = await client.start<Support>('support', { goal: 'Help.', context });
      hasType<RunHandle<{ refunded?: string[] | undefined }>>()(byType);
      const byName = await client.start('support', { goal: 'Help.', context });
      hasType<RunHandle>()(byName);
      const older = await client.start({ agent: 'support', goal: 'Help.', context });
      hasType<RunHandle>()(older);
      await client.start(supportAgent, { goal: 'Go on.', continueFrom: 'run-1' });
      await client.start(plain, { goal: 'Work.' });
    });
  });

  test('refuses wrong use at compile time', () => {
    compileOnly((client) => [
      // @ts-expect-error: the context is missing.
      client.start(supportAgent, { goal: 'Help.' }),
      // @ts-expect-error: the context lacks the customer.
      client.start(supportAgent, { goal: 'Help.', context: { plan: 'gold' } }),
      // @ts-expect-error: the customer is a text.
      client.start(supportAgent, { goal: 'Help.', context: { customerId: 1 } }),
      // @ts-expect-error: this agent takes no context.
      client.start(plain, { goal: 'Help.', context }),
      // @ts-expect-error: the option is misspelled.
      client.start(plain, { goal: 'Help.', workspce: '/srv' }),
      // @ts-expect-error: the type is of an agent of another name.
      client.start<Support>('suport', { goal: 'Help.', context }),
      // @ts-expect-error: the agent has no such tool.
      client.start(supportAgent, { goal: 'x', continueFrom: 'r', repeatEffects: ['pay'] }),
      // @ts-expect-error: the goal is missing.
      client.start(plain, {}),
    ]);
  });

  test('of an agent that hands over needs a context that the other one can read', () => {
    const named = { instructions: 'You greet.', chain: supportAgent.chain, tools: [] } as const;
    compileOnly(() => [
      defineAgent({ ...named, name: 'a', context: customer, handoffs: [supportAgent, plain, 'b'] }),
      defineAgent({
        ...named,
        name: 'a',
        context: customer,
        handoffs: [
          {
            agent: supportAgent,
            approval: ({ reason }, run) => run.context.plan !== 'gold' || reason.length > 100,
          },
        ],
      }),
      // @ts-expect-error: there is no context to hand over.
      defineAgent({ ...named, name: 'a', handoffs: [supportAgent] }),
      defineAgent({
        ...named,
        name: 'a',
        context: z.object({ customerId: z.number() }),
        // @ts-expect-error: the customer is a text.
        handoffs: [{ agent: supportAgent }],
      }),
    ]);
  });

  test('of an agent with guardrails infers what they check', () => {
    const named = { instructions: 'You greet.', chain: supportAgent.chain, tools: [] } as const;
    const output = z.object({ price: z.coerce.number() });
    compileOnly(() => [
      defineAgent({
        ...named,
        name: 'a',
        context: customer,
        completion: 'tool',
        output,
        guardrails: {
          input: [
            {
              name: 'in',
              check: (text, { context: { plan } }) => {
                hasType<string>()(text);
                hasType<string>()(plan);
                return null;
              },
            },
          ],
          output: [
            {
              name: 'out',
              check: async ({ output: { price } }, { signal }) => {
                hasType<number>()(price);
                await Promise.resolve(signal.aborted);
                return { correct: 'Ask for less.' };
              },
            },
          ],
        },
      }),
      defineAgent({
        ...named,
        name: 'a',
        // @ts-expect-error: a check without a verdict never passes.
        guardrails: { input: [{ name: 'in', check: () => undefined }] },
      }),
      defineAgent({
        ...named,
        name: 'a',
        // @ts-expect-error: it is no verdict.
        guardrails: { output: [{ name: 'out', check: () => true }] },
      }),
    ]);
  });

  test('in a workflow infers the same from the type alone', () => {
    compileOnly(async (_client, run) => {
      const typed = await run<Support>('support', { goal: 'Help.', context });
      hasType<RunResult<{ refunded?: string[] | undefined }>>()(typed);
      const untyped = await run({ agent: 'support', goal: 'Help.' });
      hasType<RunOutcome>()(untyped);
      const named = await run('support', { goal: 'Help.' }, { workflowId: 'x' });
      hasType<RunResult>()(named);
      // @ts-expect-error: the context is missing.
      await run<Support>('support', { goal: 'Help.' });
      // @ts-expect-error: the context lacks the customer.
      await run<Support>('support', { goal: 'Help.', context: { plan: 'gold' } });
      expectSame<AgentRequest<AgentDefinition>['context'], JsonObject | undefined>(true);
    });
  });
});
