/** What could not work in a run is refused when the worker starts, with the thing, the value and the remedy. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { createActivities } from '../../activities/index';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import type { Provider } from '../../activities/providers/provider';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool } from '../../activities/tools/tool';
import { UserError } from '../../activities/lifecycle/user-error';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;
beforeAll(async () => {
  stored = await temporaryStore();
});
afterAll(() => stored.dispose());

const look = (name = 'look', input: z.ZodType = z.object({})): Tool =>
  defineTool({ name, description: 'Looks.', input, effect: 'read', execute: () => 'seen' });

const provider = anthropicProvider({ apiKey: 'test-key', baseUrl: 'http://127.0.0.1:9' });

function agent(overrides: Partial<AgentDefinition> = {}): AgentDefinition {
  return {
    name: 'looker',
    instructions: 'You look.',
    chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
    tools: [look()],
    ...overrides,
  };
}

function create(
  agents: readonly AgentDefinition[],
  providers: readonly Provider[] = [provider],
): void {
  createActivities({ store: stored.store, agents, providers });
}

/** What plain JavaScript may say: no type refuses it. */
const untyped = (change: object): Attempt => {
  const definition = { name: 'pay', description: 'Pays.', input: z.object({}), execute: () => 1 };
  return () => defineTool({ ...definition, ...change });
};
const untypedAgent = (change: object): Attempt => {
  return () => {
    create([{ ...agent(), ...change }]);
  };
};

type Attempt = () => unknown;
const cases: readonly (readonly [what: string, attempt: Attempt, words: readonly string[]])[] = [
  ['an approval that is no word', untyped({ approval: true }), ['"pay"', "'never' or 'always'"]],
  ['a misspelled field', untyped({ aproval: 'always' }), ['"pay"', 'aproval']],
  ['an effect that there is not', untyped({ effect: 'idempotent' }), ['effect', "'keyed'"]],
  ['a tool without function', untyped({ execute: 'pay' }), ['execute', 'a function']],
  ['a schema of another kind', untyped({ input: { type: 'object' } }), ['input', 'zod 4']],
  ['an empty chain', untypedAgent({ chain: [] }), ['"looker"', 'chain', 'at least one']],
  ['a chain of texts', untypedAgent({ chain: ['anthropic/x'] }), ['chain.0']],
  [
    'a way to refuse that there is not',
    untypedAgent({ chain: [{ provider: 'anthropic', model: 'x', onRefusedRequest: 'stop' }] }),
    ['chain.0.onRefusedRequest', "'ask-next-provider' or 'end-run'"],
  ],
  ['no instructions', untypedAgent({ instructions: undefined }), ['instructions', 'a string']],
  ['a tool that nobody made', untypedAgent({ tools: [{ name: 'x' }] }), ['tools.0', 'defineTool']],
  ['a completion that there is not', untypedAgent({ completion: true }), ["'text' or 'tool'"]],
  [
    'a store that nobody waited for',
    () =>
      createActivities({
        store: Promise.resolve(stored.store) as unknown as typeof stored.store,
        agents: [agent()],
        providers: [provider],
      }),
    ['await openStore'],
  ],
  [
    'a tool name that vendors refuse',
    () => look('look.at it'),
    ['"look.at it"', 'a-z, A-Z, 0-9, "_" and "-"'],
  ],
  ['a tool name that is too long', () => look('l'.repeat(65)), ['1 to 64']],
  [
    "the runtime's own tool name",
    () => {
      create([agent({ tools: [look('complete_task')] })]);
    },
    ['"complete_task"', 'another name'],
  ],
  [
    'a tool twice',
    () => {
      create([agent({ tools: [look(), look()] })]);
    },
    ['"look"', 'names must be unique'],
  ],
  ['a schema that is no object', () => look('look', z.string()), ['"look"', 'object']],
  [
    'a schema that JSON Schema cannot say',
    () => look('look', z.object({ when: z.date() })),
    ['"look"', 'Date'],
  ],
  [
    'a schema with a choice at its top',
    () => look('look', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])),
    ['"look"', 'object'],
  ],
  [
    'a parameter name that vendors refuse',
    () => look('look', z.object({ 'the path': z.string() })),
    ['"look"', 'the path'],
  ],
  [
    'a provider that this worker does not have',
    () => {
      create([agent({ chain: [{ provider: 'acme', model: 'm' }] })]);
    },
    ['"looker"', '"acme"', 'has anthropic'],
  ],
  [
    'a provider without its key',
    () => {
      create([agent()], [anthropicProvider({ apiKey: '' })]);
    },
    ['"looker"', 'anthropic', 'key'],
  ],
  [
    'a second provider without its key',
    () => {
      create(
        [
          agent({
            chain: [
              { provider: 'anthropic', model: 'claude-sonnet-5' },
              { provider: 'openai', model: 'gpt-5' },
            ],
          }),
        ],
        [provider, openaiProvider({ api: 'responses', apiKey: '' })],
      );
    },
    ['"openai/gpt-5"', 'key'],
  ],
  [
    'a model whose window nobody knows',
    () => {
      create([agent({ chain: [{ provider: 'anthropic', model: 'llama-9' }] })]);
    },
    ['"anthropic/llama-9"', 'windowTokens'],
  ],
  [
    'a model without a name',
    () => {
      create([agent({ chain: [{ provider: 'anthropic', model: ' ' }] })]);
    },
    ['"looker"', 'model: give a string that is not empty'],
  ],
  [
    'an output limit of nothing',
    () => {
      create([
        agent({ chain: [{ provider: 'anthropic', model: 'claude-sonnet-5', maxOutputTokens: 0 }] }),
      ]);
    },
    ['maxOutputTokens: 0', 'at least 1'],
  ],
  [
    'a limit out of range',
    () => {
      create([agent({ limits: { maxIterations: -1 } })]);
    },
    ['"looker"', 'limits.maxIterations'],
  ],
  [
    'an agent twice',
    () => {
      create([agent(), agent()]);
    },
    ['"looker"', 'twice'],
  ],
  [
    'an agent name that no address can hold',
    () => {
      create([agent({ name: 'look/er' })]);
    },
    ['"look/er"', 'letters'],
  ],
  [
    'an agent without instructions',
    () => {
      create([agent({ instructions: ' ' })]);
    },
    ['"looker"', 'instructions'],
  ],
];

test.each(cases)('refuses %s at once', (_what, attempt, words) => {
  let thrown: unknown;
  try {
    attempt();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(UserError);
  const message = thrown instanceof UserError ? thrown.message : '';
  for (const word of words) expect(message).toContain(word);
});

test('takes an agent that has none of these', () => {
  expect(() => {
    create([agent()]);
  }).not.toThrow();
});
