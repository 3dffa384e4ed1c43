/** Plays incidents as real runs, asks `holdfast why` about each, and follows the commands that it names. */
import { runCommandLine } from '../../../workers/cli/command-line';
import type { RunExplanation } from '../../../client/why/explanation';
import type { JudgedRow, SectionScore } from '../section';
import type { Incident } from './incident';
import { incidentGoal, sharedQueue } from './incident';
import type { IncidentOptions, WholeIncidentWorld } from './incident-world';
import { inIncidentWorld } from './incident-world';
import { incidents } from './incidents';

/** Incidents that happen at the same time: most of their time they wait. */
const atOnce = 4;

/** What a command came to. */
interface Ended {
  readonly code: number;
  readonly out: string;
  readonly notes: string;
}

async function holdfast(
  { address, namespace, folder }: WholeIncidentWorld,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  let [out, notes] = ['', ''];
  const output = {
    isTerminal: false,
    hasColors: false,
    columns: () => 120,
    write: (text: string) => {
      out += text;
    },
    note: (line: string) => {
      notes += `${line}\n`;
    },
  };
  const variables = {
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    HOLDFAST_TASK_QUEUE: sharedQueue,
    HOLDFAST_STATE_DIR: folder,
    ...more,
  };
  const code = await runCommandLine(args, output, { variables, directory: folder });
  return { code, out, notes };
}

/** The words of a command as a shell reads them: plain ones, and those in single quotes. */
function wordsOf(command: string): readonly string[] {
  return (command.match(/(?:'[^']*'|\\'|[^\s'\\])+/g) ?? []).map((word) =>
    word.replace(/'([^']*)'|\\(')/g, (_, quoted: string | undefined, escaped = '') =>
      String(quoted ?? escaped),
    ),
  );
}

/** Commands that serve on and on, or end what others still look at. */
const notFollowed = /^holdfast (worker|watch|stop|replay)/;

/** Runs a command as it was printed; says what is wrong with it. */
async function follow(world: WholeIncidentWorld, command: string): Promise<string | undefined> {
  const words = wordsOf(command);
  const name = words.indexOf('holdfast');
  const assigned = words.slice(0, name).map((word) => word.split('='));
  const variables = Object.fromEntries(assigned) as Readonly<Record<string, string>>;
  const { code, notes } = await holdfast(world, words.slice(name + 1), variables);
  return code === 0 ? undefined : `${command}: exit code ${code}: ${notes.trim()}`;
}

async function problemsOf(
  world: WholeIncidentWorld,
  { id, expected }: Incident,
): Promise<readonly string[]> {
  const { code, out, notes } = await holdfast(world, ['why', id, '--json']);
  if (code !== 0) return [`exit code ${code}: ${notes.trim()}`];
  const said = JSON.parse(out) as RunExplanation;
  const steps = said.next.map(({ text, command = '' }) => `${text} ${command}`.trim());
  const wanted = expected.next.replaceAll('RUN', id);
  const missing = expected.says.filter((words) => !said.paragraph.includes(words));
  const problems = [
    ...(said.cause === expected.cause ? [] : [`cause ${said.cause}`]),
    ...missing.map((words) => `no "${words}" in: ${said.paragraph}`),
    ...(steps.some((step) => step.includes(wanted)) ? [] : [`next: ${steps.join(' | ')}`]),
  ];
  // The first command that can be followed at once: what comes after it has another run before it.
  const command = said.next.flatMap((step) => step.command ?? []);
  const followed = command.find((each) => !notFollowed.test(each));
  const refused = followed === undefined ? undefined : await follow(world, followed);
  return refused === undefined ? problems : [...problems, refused];
}

async function play(world: WholeIncidentWorld, incident: Incident): Promise<JudgedRow> {
  const { id, expected, taskQueue = sharedQueue, prepare, happen } = incident;
  const right = `${expected.cause}; next: ${expected.next}`;
  await prepare?.(world);
  // The client asks its workers for the agent; here the worker may come later, or never.
  const run = await world.client.start({ agent: id, goal: incidentGoal, runId: id, taskQueue });
  const undo = happen === undefined ? await run.outcome() : await happen(world, run);
  try {
    const problems = await problemsOf(world, incident);
    if (problems.length === 0) return { id, expected: right };
    return { id, expected: right, wrong: { id, expected: right, got: problems.join('; ') } };
  } finally {
    if (typeof undo === 'function') await undo();
  }
}

/**
 * Plays the incidents.
 *
 * Contract: `named` counts those whose cause, words and next step are as expected, and whose first command does what it says.
 */
export async function scoreWhy(
  chosen: readonly Incident[] = incidents,
  options: IncidentOptions = {},
): Promise<SectionScore> {
  const rows = await inIncidentWorld(chosen, options, async (world) => {
    if (chosen.some(({ taskQueue }) => taskQueue === undefined))
      await world.startWorker(sharedQueue);
    const judged = new Map<number, JudgedRow>();
    const rest = chosen.entries();
    const lane = async (): Promise<void> => {
      for (const [index, incident] of rest) judged.set(index, await play(world, incident));
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
    return chosen.flatMap((_incident, index) => judged.get(index) ?? []);
  });
  const named = rows.filter(({ wrong }) => wrong === undefined).length;
  return { rows, summary: { incidents: rows.length, named } };
}
