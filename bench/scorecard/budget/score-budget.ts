/** Fifty subagents under one budget: random replies, retries, cut streams, two vendors. Is the ledger the bill, and is the budget kept? */
import { z } from 'zod';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import type { Provider } from '../../../activities/providers/provider';
import { defineSubagent } from '../../../activities/subagents/define-subagent';
import { defineTool } from '../../../activities/tools/define-tool';
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import type { Step } from '../../../testing/emulator/script';
import { fault, reply } from '../../../testing/emulator/script';
import type { VendorEmulator } from '../../../testing/emulator/emulator';
import type { RunReport } from '../../../workflows/core/run/outcome';
import { randomOf } from '../../random';
import { inProviderWorld } from '../provider/provider-world';
import type { JudgedRow, SectionScore } from '../section';

/** One run with its subagents. */
export interface BudgetTrial {
  readonly id: string;
  readonly subagents: number;
  /** Subagents of one reply: they run side by side. */
  readonly atOnce: number;
  readonly budgetUsd: number;
  readonly seed: number;
}

/** The bar's trial: tight, so that many subagents meet the end of their share. */
export const tightTrial: BudgetTrial = {
  id: 'fifty subagents, too little for all',
  subagents: 50,
  atOnce: 10,
  budgetUsd: 0.12,
  seed: 7,
};

/** The same with enough for everything. */
export const ampleTrial: BudgetTrial = {
  id: 'fifty subagents, enough for all',
  subagents: 50,
  atOnce: 10,
  budgetUsd: 5,
  seed: 11,
};

/** What a trial came to. */
export interface BudgetResult {
  readonly trial: BudgetTrial;
  readonly billUsd: number;
  readonly ledgerUsd: number;
  readonly estimatedUsd: number;
  readonly started: number;
  readonly completed: number;
  readonly endedByBudget: number;
  readonly faults: number;
}

const look = defineTool({
  name: 'look',
  description: 'Looks at a page.',
  input: z.object({ page: z.number() }),
  effect: 'read',
  execute: ({ page }) => `Page ${page}. ${'It was a dark and stormy night. '.repeat(12)}`,
});

const limits: AgentDefinition['limits'] = {
  streamRetryBaseMs: 20,
  maxEvents: 100_000,
  maxToolCalls: 10_000,
  maxActiveMs: 1_800_000,
  maxIterations: 30,
  probeLeadMs: 50,
  probeLeaseMs: 200,
};

/** Short rests, since the faults here are over at once. */
const restMs = 100;

function agents(trial: BudgetTrial): readonly AgentDefinition[] {
  const rests = { rate_limit: restMs, overloaded: restMs, network: restMs, timeout: restMs };
  const cooldownMs = { ...defaultRests, ...rests };
  const chain: AgentDefinition['chain'] = [
    { provider: 'anthropic', model: 'claude-haiku-4-5', maxOutputTokens: 700 },
    { provider: 'openai', model: 'gpt-5-mini', maxOutputTokens: 700 },
  ];
  const work = defineSubagent({ name: 'work', description: 'Does a part.', agent: 'worker' });
  return [
    {
      name: 'lead',
      instructions: 'You lead.',
      chain,
      tools: [work],
      limits: { ...limits, cooldownMs },
      budget: { usd: trial.budgetUsd },
    },
    {
      name: 'worker',
      instructions: 'You work.',
      chain,
      tools: [look],
      limits: { ...limits, cooldownMs },
    },
  ];
}

const defaultRests = {
  auth: 0,
  rate_limit: 0,
  billing: 0,
  timeout: 0,
  overloaded: 0,
  model_not_found: 0,
  format: 0,
  network: 0,
  context_overflow: 0,
  content_filter: 0,
  unknown: restMs,
};

function outputLimit({ body }: RecordedRequest): number {
  return Number(body['max_tokens'] ?? body['max_output_tokens'] ?? 700);
}

/** Words of a reply: never more than the request allows, as vendors keep to it. */
function words(request: RecordedRequest, share: number): string {
  const most = Math.max(outputLimit(request) - 80, 8);
  return 'word '.repeat(Math.max(Math.floor(most * share), 1)).trim();
}

/** What a worker's model does next. */
function workerStep(request: RecordedRequest, random: () => number): Step {
  const luck = random();
  if (luck < 0.08) return fault.http(529);
  if (luck < 0.13) return fault.http(429, { headers: { 'retry-after-ms': '20' } });
  const said = words(request, random());
  const during = reply.text(said);
  if (luck < 0.2 && request.wire === 'anthropic')
    return fault.cutStream({ during, afterCharacters: Math.ceil(said.length * random()) });
  if (luck < 0.25 && request.wire === 'anthropic')
    return fault.overloadedInStream({
      during,
      afterCharacters: Math.ceil(said.length * random()),
    });
  return random() < 0.6
    ? reply.toolCalls([{ name: 'look', input: { page: Math.floor(random() * 1e6) } }], {
        text: said,
      })
    : during;
}

function leadStep(request: RecordedRequest, trial: BudgetTrial): Step {
  const asked = request.toolCalls.length;
  const count = Math.min(trial.atOnce, trial.subagents - asked);
  if (count <= 0) return reply.text('All parts are done.');
  const calls = Array.from({ length: count }, (_, index) => ({
    name: 'work',
    input: { task: `Do part ${asked + index}.` },
  }));
  return reply.toolCalls(calls);
}

function providers(emulator: VendorEmulator): readonly Provider[] {
  const apiKey = 'scorecard-key';
  return [
    anthropicProvider({ apiKey, baseUrl: emulator.baseUrl('anthropic') }),
    openaiProvider({ api: 'responses', apiKey, baseUrl: emulator.baseUrl('responses') }),
  ];
}

function resultOf(trial: BudgetTrial, report: RunReport, emulator: VendorEmulator): BudgetResult {
  const { cost } = report;
  const seen = new Set<string>();
  const workers = emulator.requests.filter(({ systemText }) => systemText.includes('You work'));
  for (const { conversation } of workers) seen.add(conversation.turns[0]?.text ?? '');
  return {
    trial,
    billUsd: emulator.bill.usd,
    ledgerUsd: cost.usd ?? NaN,
    estimatedUsd: cost.estimatedUsd ?? 0,
    started: seen.size,
    completed: report.toolCallsSucceeded,
    endedByBudget: report.didNotWork.filter((line) => line.includes('guard_budget')).length,
    faults: emulator.requests.filter(
      ({ answer }) => answer.type === 'step' && answer.step.type !== 'reply',
    ).length,
  };
}

/** Plays one trial in a world of its own. */
export async function playBudgetTrial(trial: BudgetTrial): Promise<BudgetResult> {
  return inProviderWorld(
    ({ emulator }) => ({ providers: providers(emulator), agents: agents(trial) }),
    async ({ emulator, client }) => {
      const random = randomOf(trial.seed);
      emulator.script((request) =>
        request.systemText.includes('You lead')
          ? leadStep(request, trial)
          : workerStep(request, random),
      );
      const run = await client.start({ agent: 'lead', goal: 'Have it done.' });
      const { report } = await run.result();
      await emulator.waitFor(({ requests }) => requests.every(({ progress }) => progress.finished));
      return resultOf(trial, report, emulator);
    },
  );
}

/** Half a cent: amounts nearer than that are the same to the cent. */
const halfCentUsd = 0.005;

function judge({ trial, billUsd, ledgerUsd }: BudgetResult): JudgedRow {
  const expected = `bill at most $${trial.budgetUsd}, ledger equal to the cent`;
  const got = `bill $${billUsd.toFixed(6)}, ledger $${ledgerUsd.toFixed(6)}`;
  const isRight = billUsd <= trial.budgetUsd && Math.abs(billUsd - ledgerUsd) < halfCentUsd;
  return isRight
    ? { id: trial.id, expected }
    : { id: trial.id, expected, wrong: { id: trial.id, expected, got } };
}

function rounded(usd: number): number {
  return Number(usd.toFixed(6));
}

/**
 * Plays the trials one after the other.
 *
 * Contract: the summary is that of the first trial; every trial is a row.
 */
export async function scoreBudget(trials: readonly BudgetTrial[]): Promise<SectionScore> {
  const results: BudgetResult[] = [];
  for (const trial of trials) results.push(await playBudgetTrial(trial));
  const [first] = results;
  if (first === undefined) throw new Error('The budget section has no trial.');
  const { trial, billUsd, ledgerUsd, estimatedUsd, started, completed, faults } = first;
  return {
    rows: results.map(judge),
    summary: {
      subagents: trial.subagents,
      budgetUsd: trial.budgetUsd,
      ledgerUsd: rounded(ledgerUsd),
      billUsd: rounded(billUsd),
      passed: billUsd > trial.budgetUsd || ledgerUsd > trial.budgetUsd,
      toTheCent: Math.abs(billUsd - ledgerUsd) < halfCentUsd,
      estimatedUsd: rounded(estimatedUsd),
      started,
      completed,
      faults,
      all: results.map((result) => ({
        id: result.trial.id,
        budgetUsd: result.trial.budgetUsd,
        billUsd: rounded(result.billUsd),
        ledgerUsd: rounded(result.ledgerUsd),
        completed: result.completed,
      })),
    },
  };
}
