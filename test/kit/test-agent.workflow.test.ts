/** `testAgent` on the real test server: real agents and SDKs, scripted models, people and faults. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { z } from 'zod';
import { defineAgent, defineSubagent, defineTool } from '../../activities/index';
import type { ToolEffect } from '../../workflows/core/tools/ports';
import { fault, person, reply, testAgent } from '../../testing/index';
import type { TestAgent } from '../../testing/index';
import { quietTemporal } from '../support/temporal';

/** Idempotency keys of what was done, by tool. */
const effects: { readonly tool: string; readonly key: string }[] = [];

const order = z.object({ order: z.string() });
const refundTool = <Name extends string>(name: Name, effect: ToolEffect, needsApproval = false) =>
  defineTool({
    name,
    description: 'Refunds an order.',
    input: order,
    effect,
    ...(needsApproval
      ? { approval: 'always', approvals: { expiresAfterMs: 3_600_000, onExpiry: 'reject' } }
      : {}),
    execute: (input, { idempotencyKey }) => {
      effects.push({ tool: name, key: idempotencyKey });
      return `Refunded ${input.order}.`;
    },
  });

const chain = [
  { provider: 'anthropic', model: 'claude-sonnet-5' },
  { provider: 'openai', model: 'gpt-5' },
  { provider: 'eu', model: 'llama-3.3-70b', windowTokens: 100_000 },
] as const;
const recovery = { mode: 'off' } as const;

const writer = defineAgent({
  name: 'writer',
  instructions: 'You write.',
  chain,
  tools: [refundTool('refund_asked', 'keyed', true)],
  recovery,
});
const support = defineAgent({
  name: 'support',
  instructions: 'You support customers.',
  chain,
  tools: [
    refundTool('refund', 'keyed'),
    refundTool('refund_once', 'irreversible'),
    refundTool('refund_asked', 'keyed', true),
    defineSubagent({ name: 'ask_writer', description: 'Asks the writer.', agent: writer }),
  ],
  completion: 'tool',
  output: z.object({ refunded: z.boolean() }),
  recovery,
});

const call = (name: string) => reply.toolCalls([{ name, input: { order: 'A-17' } }]);
const done = reply.toolCalls([
  { name: 'complete_task', input: { summary: 'Done.', result: { refunded: true } } },
]);
const goal = 'Refund A-17.';

/** Folders and processes of the kit. */
function leftover(): readonly string[] {
  const folders = readdirSync(tmpdir()).filter((name) => name.startsWith('holdfast-test-agent-'));
  const listed = execFileSync('ps', ['-eo', 'ppid=,args='], { encoding: 'utf8' });
  const own = new RegExp(`^\\s*${process.pid} .*temporal-test-server`, 'm');
  return [...folders, ...(own.exec(listed) ?? [])];
}

let before: readonly string[];
let agent: TestAgent<typeof support>;
beforeAll(async () => {
  quietTemporal();
  before = leftover();
  agent = await testAgent(support, { agents: [writer], wires: { eu: 'chat' } });
});
afterAll(async () => {
  await agent.close();
  await agent.close();
  await expect(agent.run({ goal }, [done])).rejects.toThrow('"support" is closed');
  expect(leftover()).toEqual(before);
});
beforeEach(() => {
  effects.length = 0;
});

test('an agent, its script, its run, and what the model was told', async () => {
  const { result, prompts, events } = await agent.run({ goal }, [
    call('refund_asked'),
    person.approve(),
    done,
  ]);
  expect(result).toMatchObject({ status: 'completed', output: { refunded: true } });
  expect(effects).toHaveLength(1);
  expect(prompts).toHaveLength(2);
  expect(prompts[1]).toMatchObject({
    tools: expect.arrayContaining(['refund', 'complete_task']) as unknown,
    messages: [
      { role: 'user', text: goal },
      { role: 'assistant', toolCalls: [{ name: 'refund_asked', input: { order: 'A-17' } }] },
      { role: 'tool', name: 'refund_asked', isError: false },
    ],
  });
  expect(events.map(({ type }) => type)).toContain('WaitStartedEvent');
});

test('a wait that is rejected, and one that nobody ends for an hour', async () => {
  const startedAtMs = Date.now();
  const { result, prompts } = await agent.run({ goal }, [
    call('refund_asked'),
    person.reject('Not this customer.'),
    call('refund_asked'),
    person.wait(3_700_000),
    done,
  ]);
  expect(result.report.elapsedMs).toBeGreaterThan(3_600_000);
  expect(Date.now() - startedAtMs).toBeLessThan(3_600_000);
  expect(effects).toEqual([]);
  expect(JSON.stringify(prompts[1])).toContain('Not this customer.');
});

test('a question is answered, with other arguments than asked for approved', async () => {
  const { prompts } = await agent.run({ goal }, [
    reply.toolCalls([{ name: 'ask_user', input: { question: 'Which order?' } }]),
    person.answer('B-5'),
    call('refund_asked'),
    person.approve({ input: { order: 'B-5' } }),
    done,
  ]);
  expect(JSON.stringify(prompts[1]?.messages)).toContain('B-5');
  expect(JSON.stringify(prompts[2]?.messages)).toContain('Refunded B-5.');
});

test('the hint of a failed call is the note of the next request only', async () => {
  const { prompts } = await agent.run({ goal }, [
    call('refund'),
    fault.tool('refund', new Error('out of stock')),
    call('refund'),
    done,
  ]);
  expect(prompts.map(({ note }) => note?.includes('out of stock'))).toEqual([
    undefined,
    true,
    undefined,
  ]);
  expect(effects).toHaveLength(1);
});

test('providers fail by script: a limit, a cut stream, an outage of minutes', async () => {
  const limited = [1, 2, 3].map(() => fault.http(429));
  const second = await agent.run({ goal }, [...limited, fault.cutStream(), done]);
  expect(second.prompts.map(({ model }) => model)).toEqual([
    ...limited.map(() => 'claude-sonnet-5'),
    'gpt-5',
    'gpt-5',
  ]);
  // The first route cools down, but not for the next run.
  const down = Array.from({ length: 9 }, () => fault.http(529));
  const { result, prompts } = await agent.run({ goal }, [...down, done]);
  expect(prompts[0]?.model).toBe('claude-sonnet-5');
  expect(result).toMatchObject({ status: 'completed' });
  expect(result.report.elapsedMs).toBeGreaterThan(30_000);
  expect(new Set(prompts.map(({ model }) => model))).toEqual(
    new Set(chain.map(({ model }) => model)),
  );
});

describe('a worker that dies in a call', () => {
  it('repeats a keyed call under its key', async () => {
    await agent.run({ goal }, [call('refund'), fault.tool('refund', 'crash-after-effect'), done]);
    expect(effects).toHaveLength(2);
    expect(new Set(effects.map(({ key }) => key)).size).toBe(1);
  });

  it.each([
    ['crash-before-effect', 0],
    ['crash-after-effect', 1],
  ] as const)('does not repeat an irreversible one (%s)', async (how, count) => {
    const { prompts } = await agent.run({ goal }, [
      call('refund_once'),
      fault.tool('refund_once', how),
      done,
    ]);
    expect(effects).toHaveLength(count);
    expect(JSON.stringify(prompts[1]?.messages)).toContain('outcome_unknown');
  });
});

test("a subagent's calls and waits are steps of the same script", async () => {
  const { result } = await agent.run({ goal }, [
    reply.toolCalls([{ name: 'ask_writer', input: { task: goal } }]),
    call('refund_asked'),
    person.approve({ tool: 'refund_asked' }),
    reply.text('Refunded.'),
    done,
  ]);
  expect(result.status).toBe('completed');
  expect(effects).toHaveLength(1);
});

test('a rule plays the model', async () => {
  const { result } = await agent.run({ goal }, (_request, index) =>
    index === 0 ? call('refund') : done,
  );
  expect(result.status).toBe('completed');
});

describe('a run that leaves its script is ended at once', () => {
  const waits = "waits for an approval of refund_asked { order: 'A-17' }, but";

  it.each([
    [
      'with a request too many',
      [call('refund')],
      [
        'Request 2 (',
        'came with the result of refund',
        'Refunded A-17.',
        'no more steps (1 used)',
        'Add a step for it',
      ],
    ],
    [
      'with a request after a mistake',
      [reply.toolCalls([{ name: 'fly', input: {} }])],
      ['Request 2 (', 'and the note "The previous iteration failed', 'no more steps (1 used)'],
    ],
    [
      'with a request before its time',
      [call('refund'), person.approve(), done],
      ['next step, number 2, is person.approve', 'Add a step'],
    ],
    [
      'with a wait that nobody ends',
      [call('refund_asked'), done],
      [waits, 'next step, number 2, is reply (calls complete_task)', 'Add person.approve()'],
    ],
    [
      'with a wait of another kind',
      [call('refund_asked'), person.answer('x'), done],
      [waits, 'person.answer', 'Give person.approve()'],
    ],
    [
      'with a wait for another tool',
      [call('refund_asked'), person.approve({ tool: 'refund' }), done],
      [waits, 'Give person.approve()'],
    ],
    [
      'with steps left over',
      [done, done],
      ['ended as completed, before these steps', 'reply (calls complete_task)'],
    ],
    [
      'with a fault that was not met',
      [done, fault.tool('refund', 'crash-after-effect')],
      ['before these steps of its script: fault.tool("refund")'],
    ],
    [
      'with a rule that throws',
      () => {
        throw new Error('expected a greeting');
      },
      ["the script's rule threw: Error: expected a greeting"],
    ],
  ] as const)('%s', async (_what, script, parts) => {
    const running = agent.run({ goal }, script);
    await expect(agent.run({ goal }, [done])).rejects.toThrow('has a run in progress');
    await expect(running).rejects.toThrow(parts[0]);
    for (const part of parts) await expect(running).rejects.toThrow(part);
    const { result } = await agent.run({ goal }, [done]);
    expect(result.status).toBe('completed');
  });
});

test('nothing is left when it cannot start', async () => {
  const known = leftover();
  const starting = testAgent({ ...support, chain: [{ provider: 'anthropic', model: '' }] });
  await expect(starting).rejects.toThrow('model');
  await expect(
    testAgent({ ...support, tools: [], handoffs: ['nobody'] }, { wires: { eu: 'chat' } }),
  ).rejects.toThrow('nobody');
  expect(leftover()).toEqual(known);
});

test('a person speaks while the model replies, and it reads that with its next request', async () => {
  const { prompts } = await agent.run({ goal }, [
    call('refund'),
    person.say('Only if it is paid.'),
    person.say('Look twice.'),
    done,
  ]);
  expect(prompts[0]?.messages).toHaveLength(1);
  const said = prompts[1]?.messages.flatMap((each) => (each.role === 'user' ? [each.text] : []));
  expect(said?.join('\n')).toContain('Only if it is paid.');
  expect(said?.join('\n')).toContain('Look twice.');
});
