/** Types: what a start, a result, a thread, `runAgent`, tools and their context infer from a definition. `npm run check` compiles this file. */
import { expectTypeOf } from 'expect-type';
import { z } from 'zod';
import { defineAgent, defineSubagent, defineTool } from '../../activities/index';
import type { AgentDefinition, Tool } from '../../activities/index';
import type {
  AgentClient,
  RunHandle,
  RunResult,
  TextDelta,
  TimelineEntry,
} from '../../client/index';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import type { RunOutcome } from '../../workflows/core/run/outcome';
import type { AgentRequest, ContextOf, OutputOf } from '../../workflows/core/typed-agent';
import type { runAgent } from '../../workflows/run-agent';
import { customer, listOrders, refund, supportAgent } from '../support/support-agent';

/** Compiled, never run: what it holds is a question to the compiler. */
function compileOnly(_code: (client: AgentClient, run: typeof runAgent) => unknown): void {
  expect(typeof _code).toBe('function');
}

type Support = typeof supportAgent;
const chain = [{ provider: 'anthropic', model: 'claude-sonnet-5' }] as const;
const plain = defineAgent({ name: 'plain', instructions: 'You work.', chain, tools: [] });

describe('a definition', () => {
  test('keeps the types of its name, context, output and tools', () => {
    expectTypeOf<Support['name']>().toEqualTypeOf<'support'>();
    expectTypeOf<ContextOf<Support>>().toEqualTypeOf<{
      customerId: string;
      plan?: string | undefined;
    }>();
    expectTypeOf<OutputOf<Support, 'output'>>().toEqualTypeOf<{ refunded: string[] }>();
    expectTypeOf<OutputOf<Support, 'input'>>().toEqualTypeOf<{ refunded?: string[] | undefined }>();
    expectTypeOf<AgentRequest<Support>['repeatEffects']>().toEqualTypeOf<
      readonly ('list_orders' | 'refund')[] | undefined
    >();
    expectTypeOf<ContextOf<typeof plain>>().toEqualTypeOf<undefined>();
    expectTypeOf<OutputOf<typeof plain, 'output'>>().toEqualTypeOf<JsonValue | undefined>();
    expectTypeOf<ContextOf<AgentDefinition>>().toEqualTypeOf<unknown>();
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
      expectTypeOf(delegate).toEqualTypeOf<
        Tool<{ customerId: string; plan?: string | undefined }>
      >();
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
        expectTypeOf(context).toEqualTypeOf<{ since: Date }>();
        return undefined;
      },
      approval: (input, { context, runId }) => {
        expectTypeOf(context).toEqualTypeOf<{ since: Date }>();
        expectTypeOf(runId).toEqualTypeOf<string>();
        return input.count > 1;
      },
      execute: (input, { context, tenant }) => {
        expectTypeOf(input).toEqualTypeOf<{ count: number }>();
        expectTypeOf(context).toEqualTypeOf<{ since: Date }>();
        return tenant;
      },
    });
    defineTool({
      name: 'plain',
      description: 'Has none.',
      input: z.object({}),
      execute: (...[, { context }]) => {
        expectTypeOf(context).toEqualTypeOf<undefined>();
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
      expectTypeOf(byDefinition).toEqualTypeOf<RunHandle<{ refunded: string[] }>>();
      const byType = await client.start<Support>('support', { goal: 'Help.', context });
      expectTypeOf(byType).toEqualTypeOf<RunHandle<{ refunded?: string[] | undefined }>>();
      const byName = await client.start('support', { goal: 'Help.', context });
      expectTypeOf(byName).toEqualTypeOf<RunHandle>();
      const older = await client.start({ agent: 'support', goal: 'Help.', context });
      expectTypeOf(older).toEqualTypeOf<RunHandle>();
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
                expectTypeOf(text).toEqualTypeOf<string>();
                expectTypeOf(plan).toEqualTypeOf<string>();
                return null;
              },
            },
          ],
          output: [
            {
              name: 'out',
              check: async ({ output: { price } }, { signal }) => {
                expectTypeOf(price).toEqualTypeOf<number>();
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

  test('tells the output of a completed run only', () => {
    compileOnly(async (client) => {
      const result = await (await client.start(supportAgent, { goal: 'Help.', context })).result();
      if (result.status === 'completed')
        expectTypeOf(result.output).toEqualTypeOf<{ refunded: string[] }>();
      else expectTypeOf(result).not.toHaveProperty('answer');
      // By id, the schema says it.
      const price = z.object({ price: z.coerce.number() });
      const later = await client.run('run-1').result(price, { timeoutMs: 1_000 });
      expectTypeOf(later).toEqualTypeOf<RunResult<{ price: number }>>();
      expectTypeOf(await client.run('run-1').result()).toEqualTypeOf<RunResult>();
      const options = { agent: 'plain', goal: 'Price it.', output: price };
      expectTypeOf(await client.start(options)).toEqualTypeOf<RunHandle<{ price: number }>>();
    });
  });

  test('of a thread infers the same as a start', () => {
    compileOnly(async (client) => {
      const thread = client.thread('support/C-1');
      const run = await thread.start(supportAgent, { goal: 'Help.', context });
      expectTypeOf(run).toEqualTypeOf<RunHandle<{ refunded: string[] }>>();
      const byType = await thread.start<Support>('support', { goal: 'Help.', context });
      expectTypeOf(byType).toEqualTypeOf<RunHandle<{ refunded?: string[] | undefined }>>();
      expectTypeOf(await thread.start('support', { goal: 'Help.' })).toEqualTypeOf<RunHandle>();
      expectTypeOf(await thread.last()).toEqualTypeOf<RunHandle | undefined>();
      // @ts-expect-error: the context is missing, in each run of the thread.
      await thread.start(supportAgent, { goal: 'Help.' });
      // @ts-expect-error: the thread numbers its runs.
      await thread.start(plain, { goal: 'Help.', runId: 'mine' });
      // @ts-expect-error: the thread knows what it continues.
      await thread.start(plain, { goal: 'Help.', continueFrom: 'run-1' });
    });
  });

  test('is followed by events, with text where it is asked for', () => {
    compileOnly(async (client) => {
      const run = client.run('run-1');
      for await (const entry of run.events()) expectTypeOf(entry).toEqualTypeOf<TimelineEntry>();
      for await (const entry of run.events({ text: true }))
        expectTypeOf(entry).toEqualTypeOf<TimelineEntry | TextDelta>();
      // @ts-expect-error: text is there only while it arrives.
      run.events({ text: true, follow: false });
      for await (const entry of run.events())
        if (entry.type === 'WaitStartedEvent' && entry.wait.kind === 'approval')
          expectTypeOf(entry.wait).toHaveProperty('digest').toEqualTypeOf<string>();
    });
  });

  test('in a workflow infers the same from the type alone', () => {
    compileOnly(async (_client, run) => {
      const typed = await run<Support>('support', { goal: 'Help.', context });
      expectTypeOf(typed).toEqualTypeOf<RunResult<{ refunded?: string[] | undefined }>>();
      const untyped = await run({ agent: 'support', goal: 'Help.' });
      expectTypeOf(untyped).toEqualTypeOf<RunOutcome>();
      const named = await run('support', { goal: 'Help.' }, { workflowId: 'x' });
      expectTypeOf(named).toEqualTypeOf<RunResult>();
      // @ts-expect-error: the context is missing.
      await run<Support>('support', { goal: 'Help.' });
      // @ts-expect-error: the context lacks the customer.
      await run<Support>('support', { goal: 'Help.', context: { plan: 'gold' } });
      expectTypeOf<AgentRequest<AgentDefinition>['context']>().toEqualTypeOf<
        JsonObject | undefined
      >();
    });
  });
});
