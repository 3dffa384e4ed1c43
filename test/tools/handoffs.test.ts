/** Handoffs and guardrails as their authors write them: tools and policies, and what could not work is refused at once. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { createAgentCatalog } from '../../activities/definitions/agent-catalog';
import { createActivities } from '../../activities/index';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import { withHandoffTools } from '../../activities/subagents/handoffs';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

let stored: TemporaryStore;
beforeAll(async () => {
  stored = await temporaryStore();
});
afterAll(() => stored.dispose());

const providers = [
  anthropicProvider({ apiKey: 'k' }),
  openaiProvider({ name: 'chat', api: 'chat', apiKey: 'k', baseUrl: 'http://127.0.0.1:9/v1' }),
];
const triage: AgentDefinition = {
  name: 'triage',
  instructions: 'Sort.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
  tools: [],
  handoffs: ['billing.eu'],
};
const { handoffs: _none, ...billing } = { ...triage, name: 'billing.eu' };
const pass = () => null;

test('a handoff is a tool with a reason, and a policy for the core; who takes over can read outputs', () => {
  const agents = withHandoffTools([triage, billing]);
  const [tool] = agents[0]?.tools ?? [];
  expect(tool).toMatchObject({
    name: 'transfer_to_billing_eu',
    cosmetic: ['reason'],
    description: 'Hands the conversation over to the agent "billing.eu", which takes it from here.',
    inputSchema: { required: ['reason'] },
  });
  const catalog = createAgentCatalog(agents, providers);
  expect(catalog.agents.get('triage')?.policies[0]).toMatchObject({
    handoff: 'billing.eu',
    effect: 'read',
    maxCalls: 5,
    quick: true,
  });
  const taker = catalog.agents.get('billing.eu');
  expect(taker?.tools.map(({ name }) => name)).toEqual(['read_output']);
  expect(taker?.systemWith('Bill.', { completion: 'tool' })).toMatch(
    /complete_task[^]*tool_output/,
  );
  // Nobody hands over to it: it is as it was.
  const alone = createAgentCatalog([billing], providers).agents.get('billing.eu');
  expect(alone?.tools).toEqual([]);
});

test('its approval, cap and description are those of its tool', () => {
  const handoff = {
    agent: billing,
    description: 'For money.',
    approval: 'always',
    maxCalls: 2,
  } as const;
  const [, tool] = withHandoffTools([{ ...triage, handoffs: ['sales', handoff] }])[0]?.tools ?? [];
  expect(tool).toMatchObject({
    approval: 'always',
    maxCalls: 2,
    description: expect.stringMatching(/here\. For money\.$/) as string,
  });
});

type Changes = Readonly<Record<string, unknown>>;

/** What each wrong use is refused with: the thing, the value and the remedy. */
const refused: readonly (readonly [Changes, string])[] = [
  [{ handoffs: 'billing.eu' }, 'Agent "triage": handoffs: give an array of agents or their names.'],
  [{ handoffs: [7] }, 'handoffs.0: '],
  [{ handoffs: [''] }, 'give a string that is not empty'],
  [{ handoffs: [{ agent: 'billing.eu', when: 'money' }] }, 'Unrecognized key: "when"'],
  [
    { handoffs: [{ agent: 'billing.eu', approval: 'maybe' }] },
    "give 'never' or 'always', or give a function",
  ],
  [
    { handoffs: [{ agent: 'billing.eu', maxCalls: 0 }] },
    'maxCalls is 0; give a whole number from 1.',
  ],
  [
    { handoffs: ['triage'] },
    'Agent "triage", handoff to "triage": an agent cannot hand over to itself. Leave it out.',
  ],
  [{ handoffs: ['billing.eu', billing] }, 'Tool "transfer_to_billing_eu" is given twice'],
  [
    { handoffs: ['nobody'] },
    'Agent "triage", handoff "transfer_to_nobody": no agent is called "nobody"; this worker has triage, billing.eu. Give createActivities that agent, or change the name.',
  ],
  [
    { handoffs: ['n'.repeat(53)] },
    'the name has 53 characters, and vendors take tool names that leave 52 for it. Give the agent a shorter name.',
  ],
  [
    {
      budget: { usd: 1 },
      chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
      handoffs: ['unpriced'],
    },
    'Agent "triage" with its subagents and handoffs',
  ],
  [{ guardrails: [] }, 'guardrails: give { input, output }'],
  [{ guardrails: { before: [] } }, 'Unrecognized key: "before"'],
  [{ guardrails: { input: pass } }, 'guardrails.input: give an array of { name, check }'],
  [{ guardrails: { input: [{ name: 'a' }] } }, 'guardrails.input.0.check: give a function'],
  [
    { guardrails: { input: [{ name: 'a b', check: pass }] } },
    'use 1 to 64 letters, digits, "_", "-" and "."',
  ],
  [
    { guardrails: { output: [{ name: 'a', check: pass, timeoutMs: 0 }] } },
    'guardrails.output.0.timeoutMs',
  ],
  [
    { guardrails: { output: [{ name: 'a', check: pass, retries: 3 }] } },
    'Unrecognized key: "retries"',
  ],
  [
    {
      guardrails: {
        output: Array.from({ length: 17 }, (_each, at) => ({ name: `g${at}`, check: pass })),
      },
    },
    'give at most 16',
  ],
  [
    {
      guardrails: {
        output: [
          { name: 'a', check: pass },
          { name: 'a', check: pass },
        ],
      },
    },
    'Agent "triage": output guardrail "a" is given twice; names must be unique.',
  ],
  [
    { handoffs: ['strict'] },
    'agent "strict" has the output guardrail "no_secrets", which a run of "triage" would not check. Give "triage" an output guardrail of that name too.',
  ],
  [
    { handoffs: ['knowing'] },
    'agent "knowing" needs a context, but "triage" has none to hand down. Give "triage" a `context` schema too.',
  ],
];

test.each(refused)('%j is refused before anything is spent', (changes, words) => {
  const agents = [
    { ...triage, ...changes } as AgentDefinition,
    billing,
    ...(JSON.stringify(changes).includes('unpriced')
      ? [
          {
            ...billing,
            name: 'unpriced',
            chain: [{ provider: 'chat', model: 'mine', windowTokens: 100_000 }] as const,
          },
        ]
      : []),
    ...(JSON.stringify(changes).includes('strict')
      ? [
          {
            ...billing,
            name: 'strict',
            guardrails: { output: [{ name: 'no_secrets', check: pass }] },
          },
        ]
      : []),
    ...(JSON.stringify(changes).includes('knowing')
      ? [{ ...billing, name: 'knowing', context: z.object({ id: z.string() }) }]
      : []),
  ];
  expect(() => createActivities({ store: stored.store, providers, agents })).toThrow(words);
});
