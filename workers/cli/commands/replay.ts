/** `holdfast replay`: replays recorded histories with the workflow code, and names the first command that differs. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { WorkflowClient } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils';
import type { ReplayWorkerOptions } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import type { CommandContext, CommonOptions, Surroundings } from '../command-context';
import { printable, printableJson } from '../display/printable';
import { exitCodes } from '../exit-codes';
import { defined } from '../../../workflows/core/json';
import { asClientError } from '../../../client/temporal-failure';
import { readEnvironment } from '../../env';
import { installRuntime } from '../../logging';
import { reasonOf, SetupError } from '../../setup-error';
import { bundleExtras, loadWorkflowBundle } from '../../workflow-bundle';
import { environmentEncoding, withTemporal } from '../reach-temporal';

interface ReplayOptions extends CommonOptions {
  readonly runId?: readonly string[];
  readonly workflows?: string;
  readonly save?: string;
}

interface NamedHistory {
  readonly name: string;
  readonly history: History;
}

/** Replays the histories. */
export async function replay(
  { output, exitWith, variables, directory }: CommandContext,
  target: string | undefined,
  options: ReplayOptions,
): Promise<void> {
  const environment = readEnvironment(variables, directory);
  const { dataConverter } = await environmentEncoding(environment, variables);
  installRuntime('silent', { withoutWorkers: true });
  const histories = [
    ...(target === undefined ? [] : await fromFiles(path.resolve(directory, target))),
    ...(await fetched({ variables, directory }, options)),
  ];
  if (histories.length === 0)
    throw new SetupError('Nothing to replay: give a directory with *.json, a file, or --run-id.');
  const { workflows: own } = options;
  const { code } = await loadWorkflowBundle({
    cacheDirectory: environment.cacheDirectory,
    extras: bundleExtras({ dataConverter }),
    ...defined({ userWorkflowsPath: own && path.resolve(directory, own) }),
  });
  let failed = 0;
  for (const { name, history } of histories) {
    const replayed = { workflowBundle: { code }, ...defined({ dataConverter }) };
    const mismatch = await replayOne(replayed, name, history);
    if (mismatch !== undefined) failed += 1;
    if (options.json === true)
      output.write(`${printableJson({ history: name, ok: mismatch === undefined, mismatch })}\n`);
    else
      output.write(
        mismatch === undefined ? `ok    ${name}\n` : `FAIL  ${printable(`${name}: ${mismatch}`)}\n`,
      );
  }
  const summary = { histories: histories.length, failed };
  output.write(
    options.json === true
      ? `${JSON.stringify(summary)}\n`
      : `${histories.length - failed} of ${histories.length} histories fit the workflow code.\n`,
  );
  if (failed > 0) exitWith(exitCodes.replayMismatch);
}

/** What `--run-id` names, kept where `--save` says. */
async function fetched(
  surroundings: Surroundings,
  { runId, save: folder }: ReplayOptions,
): Promise<readonly NamedHistory[]> {
  if (runId === undefined && folder !== undefined)
    throw new SetupError('--save keeps the histories that --run-id fetches; give --run-id too.');
  const histories = runId === undefined ? [] : await fromServer(surroundings, runId);
  if (folder !== undefined) await save(path.resolve(surroundings.directory, folder), histories);
  return histories;
}

async function save(folder: string, histories: readonly NamedHistory[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { name, history } of histories) {
    const file = path.join(folder, `${name.replace(/[^\w.-]+/g, '_')}.json`);
    await writeFile(file, `${historyToJSON(history)}\n`);
  }
}

async function replayOne(
  options: ReplayWorkerOptions,
  name: string,
  history: History,
): Promise<string | undefined> {
  try {
    const began = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    // The name may be a file's; the ids of subagents are checked against the run's own.
    const workflowId = began?.workflowId ?? name;
    await Worker.runReplayHistory(options, history, workflowId);
    return undefined;
  } catch (thrown) {
    return mismatchText(thrown);
  }
}

/**
 * One line about a failed replay, in the words of sdk-core, which name the event or activity and what the code wants now.
 *
 * Source: the texts of SDK 1.24.
 */
export function mismatchText(thrown: unknown): string {
  const text = reasonOf(thrown);
  const missing = /Failed to initialize workflow of type '(.{0,500}?)': no such function/.exec(
    text,
  )?.[1];
  if (missing !== undefined)
    return `the code has no workflow "${missing}"; if it is your own, give its file: --workflows FILE`;
  return text
    .replace(/^.*?Nondeterminism error:\s*/i, '')
    .replace(/\\?"?, source: \\?".*$/, '')
    .replace(/(?<!\\)\\+"/g, '"');
}

async function fromFiles(target: string): Promise<readonly NamedHistory[]> {
  const found = await stat(target).catch(() => undefined);
  if (found === undefined) throw new SetupError(`There is no file or directory ${target}.`);
  if (!found.isDirectory()) return [await readHistory(target, path.basename(target))];
  const names = await readdir(target, { recursive: true });
  const files = names.filter((name) => name.endsWith('.json')).sort();
  return Promise.all(files.map((name) => readHistory(path.join(target, name), name)));
}

async function readHistory(file: string, name: string): Promise<NamedHistory> {
  try {
    const json: unknown = JSON.parse(await readFile(file, 'utf8'));
    const history = historyFromJSON(json);
    if ((history.events ?? []).length === 0) throw new Error('it holds no events');
    return { name, history };
  } catch (thrown) {
    throw new SetupError(
      `${file} is not a history: ${reasonOf(thrown)}. Export it with \`holdfast replay --run-id RUN --save DIR\`, \`temporal workflow show --workflow-id ID --output json\` or from the Web UI.`,
      { cause: thrown },
    );
  }
}

function fromServer(
  surroundings: Surroundings,
  runIds: readonly string[],
): Promise<readonly NamedHistory[]> {
  return withTemporal(surroundings, async ({ client, server: { address, namespace } }) => {
    const histories = runIds.map((runId) =>
      segmentsOf(client.workflow, runId).catch((thrown: unknown) => {
        throw asClientError(thrown, { address, namespace, runId });
      }),
    );
    return (await Promise.all(histories)).flat();
  });
}

/** All segments of a run that the server still has, oldest first. */
async function segmentsOf(client: WorkflowClient, runId: string): Promise<readonly NamedHistory[]> {
  const histories: NamedHistory[] = [];
  let segmentId: string | undefined;
  do {
    const name: string = segmentId === undefined ? runId : `${runId} (${segmentId})`;
    const history: History = await client.getHandle(runId, segmentId).fetchHistory();
    histories.unshift({ name, history });
    const began = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    const previous = began?.continuedExecutionRunId ?? '';
    segmentId = previous === '' ? undefined : previous;
  } while (segmentId !== undefined);
  return histories;
}
