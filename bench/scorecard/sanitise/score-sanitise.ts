/** Sends secrets and injections through every sink of real runs, and looks for them on the other side. */
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { sanitizeText } from '../../../activities/untrusted/sanitizer';
import { createLogger } from '../../../workers/logging';
import type { ProviderWorld } from '../provider/provider-world';
import { inProviderWorld } from '../provider/provider-world';
import type { JudgedRow, SectionScore } from '../section';
import { holdsHidden, leakedIn, requestProblems, textsIn } from './find-breaks';
import type { OrdinaryFiles } from './ordinary-files';
import { readOrdinaryFiles } from './ordinary-files';
import { ordinaryTexts } from './ordinary-texts';
import type { Batch } from './sanitise-stage';
import { agentsOf, answerTo, batchesOf, givingTools, goalOf } from './sanitise-stage';

/** Which inputs, and how the MCP server is run. */
export interface SanitizeOptions {
  /** Batches of ten inputs; default all fifty. */
  readonly batches?: readonly number[];
  /** What Node needs to run the MCP server's script, where it is not compiled. */
  readonly execArgv?: readonly string[];
}

/** Runs that go on at the same time. */
const runsAtOnce = 6;

type Sinks = Readonly<Record<'prompts' | 'history' | 'logs' | 'store', string>>;

interface Found {
  readonly sinks: Sinks;
  readonly breaks: readonly string[];
}

/** Runs a batch on both protocols to its end. */
async function runBatch({ client }: ProviderWorld, batch: Batch): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const protocol of ['native', 'text'] as const) {
    const runId = `${protocol}-${batch.index}`;
    const run = await client.start({
      agent: runId,
      goal: goalOf(batch, protocol),
      runId,
    });
    const outcome = await run.outcome();
    if (outcome.status !== 'completed')
      throw new Error(`run ${runId} ended as ${outcome.status}: ${outcome.reason}`);
    ids.push(runId);
  }
  return ids;
}

/** What the runtime wrote into the history of a run: everything but the person's own words. */
async function historyOf({ temporal }: ProviderWorld, runId: string): Promise<readonly string[]> {
  const { events } = await temporal.workflow.getHandle(runId).fetchHistory();
  return (events ?? []).flatMap((event) =>
    event.workflowExecutionStartedEventAttributes ||
    event.activityTaskScheduledEventAttributes?.activityType?.name === 'prepareRun'
      ? []
      : textsIn(event),
  );
}

/** The store's files as they are on disk: what the model reads, and whatever else was kept. */
async function storeBytes(folder: string): Promise<string> {
  const files = (await readdir(folder)).filter((name) => name.startsWith('store.db'));
  const bytes = await Promise.all(files.map((name) => readFile(path.join(folder, name))));
  return Buffer.concat(bytes).toString('utf8');
}

async function sendAll(
  world: ProviderWorld,
  batches: readonly Batch[],
  logs: readonly string[],
): Promise<Found> {
  const rest = [...batches];
  const runIds: string[] = [];
  const lane = async (): Promise<void> => {
    for (let batch = rest.shift(); batch !== undefined; batch = rest.shift())
      runIds.push(...(await runBatch(world, batch)));
  };
  await Promise.all(Array.from({ length: runsAtOnce }, lane));
  const history = (await Promise.all(runIds.map((runId) => historyOf(world, runId)))).flat();
  const { requests } = world.emulator;
  return {
    sinks: {
      prompts: requests.map(({ body }) => JSON.stringify(body)).join('\n'),
      history: history.join('\n'),
      logs: logs.join(''),
      store: await storeBytes(path.dirname(world.stored.file)),
    },
    breaks: [
      ...requests.flatMap((request) =>
        requestProblems(request).map((problem) => `prompt ${problem}`),
      ),
      ...history
        .filter(holdsHidden)
        .map((text) => `history holds hidden characters: ${text.slice(0, 80)}`),
      ...logs
        .filter(holdsHidden)
        .map((text) => `log holds hidden characters: ${text.slice(0, 80)}`),
    ],
  };
}

/** Logs each input as a worker's own code would: as message, as field and as an error with its stack. */
function logInputs(logger: ReturnType<typeof createLogger>, batches: readonly Batch[]): void {
  for (const { text } of batches.flatMap(({ inputs }) => inputs)) {
    logger.warn({ text, nested: { list: [text] } }, text);
    logger.error({ err: new Error(text) }, 'failed');
  }
}

function rowsOf(batches: readonly Batch[], { sinks, breaks }: Found): readonly JudgedRow[] {
  const inputs = batches.flatMap((batch) => batch.inputs);
  const leaks = inputs.map(({ name, secrets }): JudgedRow => {
    const where = Object.entries(sinks).filter(([, text]) => leakedIn(text, secrets).length > 0);
    const expected = secrets.length > 0 ? 'in no sink' : 'stays in its place';
    if (where.length === 0) return { id: name, expected };
    const got = `found in ${where.map(([sink]) => sink).join(', ')}`;
    return { id: name, expected, wrong: { id: name, expected, got } };
  });
  const broken = [...new Set(breaks)].map((got): JudgedRow => {
    const row = { id: 'fences', expected: 'whole' };
    return { ...row, wrong: { ...row, got } };
  });
  return [...leaks, ...broken];
}

/** Ordinary texts that the sanitizer changes. */
function falsePositives(): readonly string[] {
  return ordinaryTexts.filter(
    (text) => sanitizeText(text, { maxChars: 100_000, root: '/srv/project' }) !== text,
  );
}

/** Share of ordinary files in which something may be taken for a secret. */
const mostChanged = 0.005;

/** The files, if they are too many: some hold what looks like a secret to a person too. */
function fileRows({ files, changed }: OrdinaryFiles): readonly JudgedRow[] {
  const row = { id: 'ordinary files', expected: `at most ${mostChanged * 100} % are changed` };
  const isGood = changed.length <= files * mostChanged;
  const got = `${changed.length} of ${files}: ${changed.join(', ')}`;
  return [isGood ? row : { ...row, wrong: { ...row, got } }];
}

/**
 * Plays the section.
 *
 * Contract: `inputs` counts texts; each is sent as a tool's text, as JSON, as a tool's error with output, as a thrown error,
 * by an MCP server as output and as error, in a vendor's refusal, over the text protocol, and to the log. Spans are no sink:
 * the runtime makes none.
 * Errors: rejects if a run does not complete, or if nothing was redacted at all, since then the section looks at nothing.
 */
export async function scoreSanitize(options: SanitizeOptions = {}): Promise<SectionScore> {
  const batches = batchesOf(options.batches);
  const logs: string[] = [];
  const logger = createLogger('debug', { write: (line) => logs.push(line) });
  const script = path.join(__dirname, `mcp-program${path.extname(__filename)}`);
  const args = [...(options.execArgv ?? []), script];
  const mcp = await connectMcp({
    name: 'mcp',
    transport: { type: 'stdio', command: process.execPath, args },
  });
  try {
    const tools = [...givingTools(), ...mcp.tools];
    logInputs(logger, batches);
    const found = await inProviderWorld(
      ({ emulator }) => {
        emulator.script((request) =>
          answerTo(
            request,
            tools.map(({ name }) => name),
          ),
        );
        return {
          agents: batches.flatMap((batch) => agentsOf(batch, tools)),
          providers: [
            anthropicProvider({ apiKey: 'test-key', baseUrl: emulator.baseUrl('anthropic') }),
          ],
        };
      },
      (world) => sendAll(world, batches, logs),
      logger,
    );
    if (!found.sinks.prompts.includes('[redacted]') || !found.sinks.logs.includes('[redacted]'))
      throw new Error('Nothing was redacted: the inputs did not arrive.');
    const ordinary = readOrdinaryFiles();
    const rows = [...rowsOf(batches, found), ...fileRows(ordinary)];
    return {
      rows,
      summary: {
        inputs: batches.flatMap(({ inputs }) => inputs).length,
        secretsLeaked: rows.filter(({ wrong }) => wrong?.expected === 'in no sink').length,
        fencesBroken: found.breaks.length,
        falsePositives: falsePositives().length,
        ordinaryFiles: ordinary.files,
        filesChanged: ordinary.changed.length,
      },
    };
  } finally {
    await mcp.close();
  }
}
