/** The demo: an agent repairs a real project while its model, its provider and its worker fail. */
import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { UserError } from '../../activities/index';
import { openTemporal, readEnvironment } from '../../workers/index';
import type { Environment, TemporalServer } from '../../workers/index';
import { hasRealModel, realModels } from './demo-models';
import { repairProject } from './demo-run';
import type { Story } from './story';
import { storyOn } from './story';
import type { DemoSummary } from './summary';
import { printSummary } from './summary';
import type { TestRun } from './verify-project';
import { forkWorker } from './worker-process';
import { copyProject, runTests, testsDigest } from './verify-project';

interface DemoOptions {
  /** The last line is the summary as JSON. */
  readonly json: boolean;
  /** The embedded server outlives the demo, so that the Web UI can be looked at. */
  readonly keep: boolean;
}

function testsText({ passed, failed }: TestRun): string {
  return failed === 0 ? `all ${passed} tests pass` : `${failed} of ${passed + failed} tests fails`;
}

function printTitle(story: Story): void {
  story.line();
  story.heading('Holdfast demo: an agent repairs a project while things fail around it');
  story.line();
}

/** Errors: `UserError` if the environment names an account but no model. */
function modelText(environment: Environment): string {
  if (!hasRealModel(environment))
    return 'an emulator behind the vendors’ real SDKs; no key is needed';
  return realModels(environment)
    .chain.map(({ provider, model }) => `${provider}/${model}`)
    .join(', then ');
}

/** How to look at the run when the demo is over. */
function printWhereToLook(
  story: Story,
  temporal: TemporalServer,
  runId: string,
  keep: boolean,
): void {
  const path = `/namespaces/${temporal.namespace}/workflows/${runId}`;
  story.fact('look', `npx holdfast show ${runId}`);
  if (temporal.embedded === undefined) return;
  story.fact('Web UI', `${temporal.embedded.uiUrl}${path}`);
  story.fact(
    '',
    keep || temporal.embedded.attached
      ? `still served; end it with: kill ${temporal.embedded.pid}`
      : 'ends with this demo; to keep it: npm run demo -- --keep',
  );
}

/** What the project's own tests say, and what they are. */
async function examine(
  workspace: string,
): Promise<{ readonly tests: TestRun; readonly digest: string }> {
  return { tests: await runTests(workspace), digest: await testsDigest(workspace) };
}

async function demo(
  story: Story,
  environment: Environment,
  { json, keep }: DemoOptions,
): Promise<boolean> {
  const startedAtMs = Date.now();
  const workspace = await copyProject();
  try {
    printTitle(story);
    story.fact('model', modelText(environment));
    // Loads while the server starts.
    const worker = forkWorker();
    const [before, temporal] = await Promise.all([
      examine(workspace),
      openTemporal(environment, keep ? {} : { untilExitOf: process.pid }),
    ]);
    story.fact('project', `latency-report, ${testsText(before.tests)}`);
    const run = await repairProject({ environment, temporal, workspace, story, worker });
    const after = await examine(workspace);
    const summary: DemoSummary = {
      status: run.result.status,
      testsPass: !before.tests.isGreen && after.tests.isGreen && after.digest === before.digest,
      iterations: run.result.report.iterations,
      healed: run.result.report.healed,
      failovers: run.result.report.failovers,
      workerKills: run.workerKills,
      historyBytes: run.historyBytes,
      historyEvents: run.historyEvents,
      seconds: Math.round((Date.now() - startedAtMs) / 100) / 10,
    };
    printSummary(story, summary, run.result);
    printWhereToLook(story, temporal, run.runId, keep);
    story.line();
    if (!keep && temporal.embedded?.attached === false) await temporal.embedded.stop();
    if (json) story.line(JSON.stringify(summary));
    return summary.testsPass;
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  return (await demo(storyOn(process.stdout), readEnvironment(), values)) ? 0 : 1;
}

/** Errors that a person can fix (a variable, an option) are shown without a stack. */
function isUsage(thrown: unknown): thrown is Error {
  if (!(thrown instanceof Error)) return false;
  const isOption = 'code' in thrown && String(thrown.code).startsWith('ERR_PARSE_ARGS');
  return thrown instanceof UserError || isOption;
}

// A reader that closes the pipe (`| head`) ends the demo quietly; its worker and server end with it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(1);
  throw error;
});

main().then(
  (code) => process.exit(code),
  (thrown: unknown) => {
    console.error(isUsage(thrown) ? thrown.message : thrown);
    process.exit(1);
  },
);
