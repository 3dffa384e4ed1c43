/** Wrong uses of the testing kit: each is refused before anything is started or sent, with thing, value and remedy. */
import { z } from 'zod';
import { defineAgent, defineSubagent, defineTool } from '../../activities/index';
import { TestScript } from '../../testing/agent/test-script';
import { failingTools } from '../../testing/agent/failing-tools';
import { fault, person, reply, testAgent, VendorEmulator } from '../../testing/index';

const tool = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'found',
});
const agent = defineAgent({
  name: 'support',
  instructions: 'You help.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
  tools: [tool, defineSubagent({ name: 'ask', description: 'Asks.', agent: 'other' })],
});
const atOwnVendor = defineAgent({ ...agent, chain: [{ provider: 'azure-eu', model: 'gpt-5' }] });

/** What plain JavaScript may give. */
const wrong = (value: unknown): never => value as never;

describe('testAgent', () => {
  it.each<[string, unknown, object, readonly string[]]>([
    ['a name', 'support', {}, ["'support' is given as an agent", 'defineAgent']],
    ['nothing', undefined, {}, ['undefined is given as an agent', 'defineAgent']],
    ['an agent without a chain', { ...agent, chain: [] }, {}, ['"support"', 'chain']],
    ['an unknown option', agent, { emulator: 1 }, ['testAgent', 'emulator', 'Its options:']],
    ['agents that are no array', agent, { agents: agent }, ['agents', 'give an array']],
    ['an agent that is none', agent, { agents: [{ name: 'x' }] }, ['Agent "x"', 'chain']],
    ['a wire that is none', agent, { wires: { a: 'grpc' } }, ['wires.a', '"chat"']],
    ['a provider whose API is not known', atOwnVendor, {}, ['"azure-eu"', 'wires: {']],
    ['a wire of nobody', agent, { wires: { acme: 'chat' } }, ['"acme"', 'anthropic']],
  ])('refuses %s', async (_what, given, options, parts) => {
    const starting = testAgent(wrong(given), options);
    await expect(starting).rejects.toMatchObject({ name: 'UserError' });
    for (const part of parts) await expect(starting).rejects.toThrow(part);
  });
});

describe('a script', () => {
  const noStep = ['is not a step', 'reply.text('];

  it.each<[string, unknown, readonly string[]]>([
    ['nothing', undefined, ['undefined', 'give an array of steps']],
    ['one step without an array', reply.text('x'), ["type: 'reply'", 'give an array of steps']],
    ['a text', ['hello'], ['step 1', "'hello'", ...noStep]],
    ['a builder that was not called', [reply.text], ['step 1', 'call it']],
    ['a step of scriptedProvider', [{ text: 'x' }], ["{ text: 'x' }", ...noStep]],
    ['a text that is none', [reply.text(wrong(5))], ['parts.0.text', 'expected string']],
    ['parts that are none', [reply.parts([wrong({ type: 'image' })])], ['parts.0.type']],
    ['an unknown stop', [reply.text('x', { stop: wrong('done') })], ['stop']],
  ])('of an emulator or a run refuses %s', async (_what, script, parts) => {
    const emulator = await VendorEmulator.start();
    try {
      for (const use of [
        () => {
          emulator.script(wrong(script));
        },
        () => new TestScript(wrong(script), new Set()),
      ])
        for (const part of parts) expect(use).toThrow(part);
    } finally {
      await emulator.stop();
    }
  });

  it.each<[string, unknown, readonly string[]]>([
    ['a fault of an unknown tool', fault.tool('fly', 'crash-after-effect'), ["'fly'", 'look_up']],
    ['a fault of a subagent', fault.tool('ask', 'crash-after-effect'), ["'ask'", 'look_up']],
    ['an unknown fault', fault.tool('look_up', wrong('burn')), ["'burn'", 'crash-after-effect']],
    ['an empty answer', person.answer(' '), ['not an act', 'text', 'not empty']],
    ['a rejection without a reason', person.reject(''), ['not an act', 'reason', 'not empty']],
    ['a wait into the past', person.wait(-1), ['not an act', 'ms', 'at least 1']],
    [
      'an unknown option',
      person.approve(wrong({ by: 'Ada' })),
      ['not an act of a person: Unrecognized key: "by"', '({ tool, input })'],
    ],
    ['an act that is none', { type: 'person', act: { does: 'fly' } }, ['not an act', "'fly'"]],
  ])('of a run refuses %s', (_what, step, parts) => {
    const use = (): TestScript => new TestScript([wrong(step)], failingTools([agent]));
    for (const part of ['testAgent run: step 1: ', ...parts]) expect(use).toThrow(part);
  });

  it.each([
    ['a person', person.approve()],
    ['a tool', fault.tool('look_up', 'crash-after-effect')],
  ])('of an emulator has no step of %s', async (_who, step) => {
    const emulator = await VendorEmulator.start();
    try {
      expect(() => {
        emulator.script([wrong(step)]);
      }).toThrow('scripted with run() of testAgent');
    } finally {
      await emulator.stop();
    }
  });

  it.each<[string, object, readonly string[]]>([
    ['an unknown option', { server: 'mistral' }, ['VendorEmulator.start', '"server"']],
    ['a server that it cannot play', { servers: { m: 'mistrall' } }, ['servers.m', '"mistral"']],
    ['a window that is none', { windows: { m: 0 } }, ['windows.m', '>=1']],
    ['an unknown way of cut replies', { cutReplies: 'half' }, ['cutReplies', '"whole"']],
  ])('finds no emulator with %s', async (_what, options, parts) => {
    for (const part of parts) await expect(VendorEmulator.start(options)).rejects.toThrow(part);
  });

  it('refuses words that no reply stands before', () => {
    for (const script of [[person.say('Hi.')], [person.approve(), person.say('Hi.')]])
      expect(() => new TestScript(script, new Set())).toThrow(
        `person.say("Hi.") has no reply before it. Put it behind the reply`,
      );
  });

  it('refuses a key that no request has', async () => {
    const emulator = await VendorEmulator.start();
    try {
      expect(() => {
        emulator.script([reply.text('x')], wrong({ vendor: 'anthropic' }));
      }).toThrow('key: Unrecognized key: "vendor". Give { model, wire, mount }');
    } finally {
      await emulator.stop();
    }
  });
});

test('the compiler refuses what it can', () => {
  const customer = defineAgent({
    name: 'customer',
    instructions: 'You help.',
    chain: agent.chain,
    context: z.object({ customerId: z.string() }),
    tools: [],
  });
  // Only compiled.
  const uses = async (emulator: VendorEmulator): Promise<void> => {
    // @ts-expect-error -- an agent is a definition.
    await testAgent('support');
    // @ts-expect-error -- no such option.
    const tested = await testAgent(customer, { emulator });
    // @ts-expect-error -- the agent's runs have a context.
    await tested.run({ goal: 'x' }, [reply.text('x')]);
    // @ts-expect-error -- of this form.
    await tested.run({ goal: 'x', context: { customerId: 5 } }, [reply.text('x')]);
    // @ts-expect-error -- a script is an array.
    await tested.run({ goal: 'x', context: { customerId: 'C-1' } }, reply.text('x'));
    // @ts-expect-error -- a text is not a step.
    await tested.run({ goal: 'x', context: { customerId: 'C-1' } }, ['x']);
    // @ts-expect-error -- people have no step in an emulator's script.
    emulator.script([person.approve()]);
    // @ts-expect-error -- nor have tools.
    emulator.script([fault.tool('look_up', 'crash-after-effect')]);
    // @ts-expect-error -- tools do not burn.
    fault.tool('look_up', 'burn');
    // @ts-expect-error -- no such act.
    person.approve({ by: 'Ada' });
  };
  expect(uses).toBeInstanceOf(Function);
});
