/** Activities of a run that is handed over: what the next agent is prepared with, and what guardrails are given and say. */
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { z } from 'zod';
import { parseRunConfig } from '../../activities/definitions/run-config';
import { createActivities, defineAgent, defineTool } from '../../activities/index';
import type { GuardrailAnswer } from '../../activities/definitions/guardrail';
import { scriptedProvider } from '../../testing/scripted-provider';
import type { Activities } from '../../workflows/core/activities';
import type {
  CheckGuardrailsInput,
  CheckGuardrailsResult,
  GuardrailStage,
} from '../../workflows/core/guardrails/ports';
import { defaultLimits } from '../../workflows/core/limits';
import type { Message } from '../../workflows/core/message';
import type { PrepareRunResult } from '../../workflows/core/run/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

/** What the check of the test is given, and what it says. */
const seen: unknown[] = [];
let said: () => unknown = () => null;
const check = (checked: unknown, { context }: { context: unknown }): GuardrailAnswer => {
  seen.push([checked, context]);
  return said() as GuardrailAnswer;
};

const chain = [{ provider: 'scripted', model: 'm', windowTokens: 100_000 }] as const;
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'seen',
});
const triage = defineAgent({
  name: 'triage',
  instructions: ({ context }) => `Triage of plan ${context.plan}.`,
  chain,
  context: z.object({ customerId: z.string(), plan: z.string().default('basic') }),
  completion: 'tool',
  output: z.object({ price: z.coerce.number() }),
  tools: [look],
  handoffs: ['billing'],
  guardrails: { output: [{ name: 'out', timeoutMs: 1_000, check }] },
});
const billing = defineAgent({
  name: 'billing',
  instructions: ({ context }) => `Billing of ${context.customerId}.`,
  chain,
  context: z.object({ customerId: z.string() }),
  tools: [],
  handoffs: ['triage'],
  guardrails: {
    input: [{ name: 'in', timeoutMs: 1_000, check }],
    output: [{ name: 'out', check }],
  },
});

/** Failures are the subject of the test. */
const logger = new DefaultLogger('ERROR');

let stored: TemporaryStore;
let activities: Activities;
beforeEach(async () => {
  stored = await temporaryStore();
  const provider = scriptedProvider('scripted', []);
  activities = createActivities({
    store: stored.store,
    providers: [provider],
    agents: [triage, billing],
  });
  seen.length = 0;
  said = () => null;
});
afterEach(() => stored.dispose());

const context = { customerId: 'C-1', plan: 'gold' };
const limits = { ...defaultLimits, maxIterations: 7 };

async function configOf({ snapshot }: PrepareRunResult) {
  const { definition } = snapshot;
  return parseRunConfig(definition, (await stored.store.getBlob(definition)).toString());
}

async function begin(): Promise<PrepareRunResult> {
  return activities.prepareRun({ flags: [], agent: 'triage', goal: 'Pay 7.', context });
}

async function handOver(from: PrepareRunResult, to: string): Promise<PrepareRunResult> {
  return activities.prepareRun({
    flags: [],
    agent: 'triage',
    goal: 'Pay 7.',
    actingAgent: to,
    limits,
    contextOf: from.snapshot.definition,
    underway: { head: from.head },
  });
}

test('the next agent brings instructions and tools; the way to end, the limits and the context are the run’s', async () => {
  const first = await begin();
  const second = await handOver(first, 'billing');
  expect(second.head).toBe(first.head);
  expect(second.snapshot).toMatchObject({
    agent: 'billing',
    completion: 'tool',
    limits,
    hasContext: true,
    guardrails: { input: { names: ['in'] }, output: { names: ['out'] } },
  });
  const config = await configOf(second);
  expect(config).toMatchObject({
    agent: 'billing',
    completion: 'tool',
    context: { customerId: 'C-1' },
    input: 'Pay 7.',
    startedAs: { agent: 'triage', context: { customerId: 'C-1', plan: 'gold' } },
  });
  expect(config.system).toMatch(/^Billing of C-1\.[^]*complete_task[^]*tool_output/);
  const names = config.tools.map(({ name }) => name);
  expect(names).toEqual(['transfer_to_triage', 'read_output', 'complete_task', 'ask_user']);
});

test('an agent that gets the run back reads the whole context again', async () => {
  const first = await begin();
  const back = await handOver(await handOver(first, 'billing'), 'triage');
  // But for the limits that the caller of this test gave, it is what the run began with.
  expect({ ...(await configOf(back)), limits: {} }).toEqual({
    ...(await configOf(first)),
    limits: {},
  });
});

test('a worker without the next agent leaves the handoff to another one', async () => {
  const first = await begin();
  await expect(handOver(first, 'sales')).rejects.toMatchObject({
    type: 'worker_mismatch',
    nonRetryable: false,
  });
});

const answered = (price: string): Message => ({
  role: 'assistant',
  vendor: 'scripted',
  model: 'm',
  blocks: [
    { type: 'text', text: 'Here it is.' },
    {
      type: 'tool-call',
      toolCallId: 'a',
      name: 'complete_task',
      input: { summary: 'Done.', result: { price } },
    },
  ],
});

/** What the guardrails of a run say that was handed to billing, at this attempt. */
async function checked(stage: GuardrailStage, attempt = 1): Promise<CheckGuardrailsResult> {
  const { snapshot, head } = await handOver(await begin(), 'billing');
  const input = {
    storeId: snapshot.storeId,
    definition: snapshot.definition,
    stage,
    head: await stored.store.appendNode(head, [answered('42')]),
  };
  const environment = new MockActivityEnvironment({ attempt }, { logger });
  return environment.run<
    [CheckGuardrailsInput],
    CheckGuardrailsResult,
    (given: CheckGuardrailsInput) => Promise<CheckGuardrailsResult>
  >((given) => activities.checkGuardrails(given), input);
}

test.each([
  ['input', 'in', 'Pay 7.', { customerId: 'C-1' }],
  ['output', 'out', { text: 'Done.', output: { price: 42 } }, { customerId: 'C-1', plan: 'gold' }],
] as const)(
  'the %s is checked by the agent whose it is, with its own context',
  async (stage, name, what, read) => {
    expect((await checked(stage)).verdicts).toEqual([{ name, verdict: 'passed' }]);
    expect(seen).toEqual([[what, read]]);
  },
);

test.each([
  [{ stop: 'no' }, { verdict: 'stopped', message: 'no' }],
  [{ correct: 'Be brief.' }, { verdict: 'corrected', message: 'Be brief.' }],
])('%j is a verdict', async (answer, verdict) => {
  said = () => answer;
  expect((await checked('output')).verdicts).toEqual([{ name: 'out', ...verdict }]);
});

const hang = (): Promise<never> => new Promise(() => undefined);
const broken = (): never => {
  throw new Error('the service answered 503');
};

test.each<[string, () => unknown, string]>([
  ['throws', broken, 'the service answered 503'],
  ['hangs', hang, 'it took longer than 1000 ms'],
  ['returns nothing', () => undefined, 'it returned undefined; return null to pass'],
  ['returns true', () => true, 'it returned true'],
  ['says pass', () => 'pass', "it returned 'pass'"],
  ['gives no reason', () => ({ stop: ' ' }), "it returned { stop: ' ' }"],
  ['says both', () => ({ stop: 'a', correct: 'b' }), 'it returned {'],
])(
  'a check that %s passes nothing: it is tried four times, then the run ends',
  async (_how, answer, why) => {
    said = answer;
    const failures = [1, 3, 4].map((attempt) =>
      checked('output', attempt).then(
        () => undefined,
        (thrown: unknown) => thrown as ApplicationFailure,
      ),
    );
    const [first, third, last] = await Promise.all(failures);
    expect(first).toBeInstanceOf(ApplicationFailure);
    expect(first).toMatchObject({
      type: 'guardrail_failed',
      nonRetryable: false,
      nextRetryDelay: 1_000,
    });
    expect(third).toMatchObject({ nonRetryable: false, nextRetryDelay: 4_000 });
    expect(last).toMatchObject({ type: 'guardrail_failed', nonRetryable: true });
    expect(last?.message).toContain('The guardrail "out" gave no verdict, so nothing passed: ');
    expect(last?.message).toContain(why);
  },
);
