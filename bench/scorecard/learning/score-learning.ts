/** The same failing tool calls with patterns off and on, and a planted bad pattern: real runs with a scripted model. */
import type { Pattern } from '../../../activities/stores/patterns/pattern-shape';
import type { PatternStore } from '../../../activities/stores/patterns/pattern-store';
import type { ModelRequest } from '../../../activities/providers/provider';
import { openStore } from '../../../activities/stores/open-store';
import type { ScriptedProvider, ScriptedStep } from '../../../testing/scripted-provider';
import { scriptedProvider } from '../../../testing/scripted-provider';
import { extractPatternsWorkflow } from '../../../workflows/contract';
import { errorFingerprint, errorKindText } from '../../../workflows/core/errors/error-fingerprint';
import type { ProviderWorld } from '../provider/provider-world';
import { inProviderWorld } from '../provider/provider-world';
import type { JudgedRow, SectionScore } from '../section';
import type { LearningCase } from './learning-cases';
import { learningCases, mislaidCase, caseTools, successText } from './learning-cases';

/** Lessons of each case before patterns are extracted: enough for the confidence at which a run acts (ADR 0027). */
const lessons = 8;

/** Measured runs of each case, and failures after which the model finds its own way. */
const runsPerCase = 3;
const ownPatience = 4;

/** Uses within which a bad pattern must be demoted (R-LEARN-3). */
const mostBadUses = 3;

const token = /token (\d+)/;

function textOf(request: ModelRequest): string {
  return `${JSON.stringify(request.messages)}${request.note ?? ''}`;
}

/** The model: repeats its first call until it sees a result, or has failed as often as its patience lasts. */
function mindOf(cases: readonly LearningCase[]): ScriptedProvider {
  const failures = new Map<string, number>();
  return scriptedProvider('scripted', (request): ScriptedStep => {
    const text = textOf(request);
    if (request.tools.length === 0)
      return {
        text: JSON.stringify({
          strategy: 'parameter-adjustment',
          reasoning: 'Something about the parameters is wrong.',
          action: { toolName: '' },
          expectedOutcome: 'It works.',
          confidence: 0.85,
        }),
      };
    const [, run = ''] = token.exec(text) ?? [];
    const learningCase = cases.find(({ id }) => text.includes(`case ${id};`));
    if (learningCase === undefined) return { text: 'There is no such case.' };
    if (text.includes(successText)) return { text: 'done' };
    const failed = failures.get(run) ?? 0;
    failures.set(run, failed + 1);
    const patience = text.includes('lesson;') ? 1 : ownPatience;
    return { toolCalls: [failed < patience ? learningCase.wrong(run) : learningCase.right(run)] };
  });
}

/** Model calls, the planner's included, from the first failure to the result. */
function callsToRecovery({ requests }: ScriptedProvider, run: string): number {
  const calls = requests.filter((request) => textOf(request).includes(`token ${run} `)).length;
  return calls - 2;
}

let runs = 0;
async function play(
  world: ProviderWorld,
  agent: string,
  learningCase: LearningCase,
  kind: 'lesson' | 'measured',
): Promise<string> {
  runs += 1;
  const run = String(1_000 + runs);
  const goal = `Work on case ${learningCase.id}; as a ${kind}; with token ${run} here.`;
  const started = await world.client.start({ agent, goal });
  const result = await started.result();
  if (result.status !== 'completed')
    throw new Error(
      `a ${kind} of "${learningCase.id}" ended as ${result.status}: ${JSON.stringify(result).slice(0, 600)}`,
    );
  return run;
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function plantedPattern(): Pattern {
  const message = 'cannot convert "eur 1"';
  const atMs = Date.now();
  return {
    id: 'planted',
    tenant: 'default',
    tool: 'convert',
    errorCode: 'tool_execution_failed',
    errorFingerprint: errorFingerprint('tool_execution_failed', message),
    errorText: errorKindText(message),
    fix: {
      strategy: 'parameter-adjustment',
      toolName: 'convert',
      changes: [{ type: 'constant', parameter: 'amount', value: 'all of it' }],
    },
    observed: { successes: 50, failures: 0, atMs },
    used: { successes: 0, failures: 0, atMs },
    lastUses: [],
    status: 'active',
    statusAtMs: atMs,
    createdAtMs: atMs,
  };
}

/** Runs until the planted pattern is demoted; how often it was used by then. */
async function usesOfBadPattern(world: ProviderWorld, patterns: PatternStore): Promise<number> {
  await patterns.updatePattern('planted', plantedPattern);
  for (let tries = 0; tries < 2 * mostBadUses; tries += 1) {
    await play(world, 'learner', mislaidCase, 'measured');
    const planted = await patterns.pattern('planted');
    if (planted?.status === 'demoted') return planted.lastUses.length;
  }
  return (await patterns.pattern('planted'))?.lastUses.length === 0 ? 0 : 99;
}

interface Measured {
  readonly learningCase: LearningCase;
  readonly off: number;
  readonly on: number;
}

async function measure(
  world: ProviderWorld,
  mind: ScriptedProvider,
  cases: readonly LearningCase[],
): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  for (const learningCase of cases)
    for (let index = 0; index < runsPerCase; index += 1) {
      const off = callsToRecovery(mind, await play(world, 'stranger', learningCase, 'measured'));
      const on = callsToRecovery(mind, await play(world, 'learner', learningCase, 'measured'));
      measured.push({ learningCase, off, on });
    }
  return measured;
}

function rowOf({ learningCase, off, on }: Measured, index: number): JudgedRow {
  const id = `${learningCase.id} #${(index % runsPerCase) + 1}`;
  const expected = `fewer than ${off} calls with patterns`;
  return on < off
    ? { id, expected: `${off} calls without patterns, ${on} with` }
    : { id, expected, wrong: { id, expected, got: `${on} calls` } };
}

function badRow(uses: number): JudgedRow {
  const { id } = mislaidCase;
  const expected = `demoted after at most ${mostBadUses} uses`;
  const isRight = uses >= 1 && uses <= mostBadUses;
  return isRight
    ? { id, expected: `demoted after ${uses} uses` }
    : { id, expected, wrong: { id, expected, got: uses === 99 ? 'still used' : `${uses} uses` } };
}

/** Lets runs solve each case without help, several at once. */
async function teach(world: ProviderWorld, cases: readonly LearningCase[]): Promise<void> {
  for (const learningCase of cases) {
    const taught = await Promise.allSettled(
      Array.from({ length: lessons }, () => play(world, 'learner', learningCase, 'lesson')),
    );
    const failed = taught.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }
}

/** Teaches, draws patterns by the workflow of the schedule, and measures. */
export async function scoreLearning(
  cases: readonly LearningCase[] = learningCases,
): Promise<SectionScore> {
  const mind = mindOf([...cases, mislaidCase]);
  const agent = {
    instructions: 'You work on cases.',
    chain: [{ provider: 'scripted', model: 'm', windowTokens: 100_000 }] as const,
    tools: caseTools,
    recovery: { mode: 'auto' as const },
  };
  const parts = {
    providers: [mind],
    agents: [
      { ...agent, name: 'learner' },
      { ...agent, name: 'stranger', patterns: 'off' as const },
    ],
  };
  return inProviderWorld(
    () => parts,
    async (world) => {
      await teach(world, cases);
      await world.temporal.workflow.execute(extractPatternsWorkflow, {
        taskQueue: 'scorecard',
        workflowId: 'extract-patterns',
        args: [],
      });
      const measured = await measure(world, mind, cases);
      const store = await openStore(world.stored.url);
      const badPatternUses = await usesOfBadPattern(world, store.patterns).finally(() =>
        store.close(),
      );
      return {
        rows: [...measured.map(rowOf), badRow(badPatternUses)],
        summary: {
          callsToRecoveryOff: median(measured.map(({ off }) => off)),
          callsToRecoveryOn: median(measured.map(({ on }) => on)),
          badPatternUses,
        },
      };
    },
  );
}
