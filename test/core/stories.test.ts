/**
 * What people read of whole runs, step by step (timeline, status, and what waits for them), and what the core asks for.
 *
 * The stories in `fixtures` are kept so that a change of the core shows what it changes for people and in requests.
 * `HOLDFAST_WRITE_STORIES=1` rewrites them: read the difference before you commit it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { smallAgents } from '../../bench/explore/agents/all';
import { loadCore } from '../../bench/explore/core';
import { opened, walk } from '../../bench/explore/search';
import type { SmallAgent } from '../../bench/explore/small-agent';
import { randomOf } from '../../bench/random';
import type { Step } from '../../scripts/step';
import { stepsOf } from '../../scripts/step';
import type { RunCommand, RunEvent } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import type { Transition } from '../../workflows/core/run/transition';
import { pendingItems } from '../../workflows/core/view/pending';
import { statusMarkdown } from '../../workflows/core/view/markdown';
import { statusView } from '../../workflows/core/view/status';
import { timelineText } from '../../workflows/core/view/timeline-text';

type StoryStep = Omit<Step, 'number'>;

function shownLines(state: RunState): readonly string[] {
  const text = statusMarkdown('run', statusView(state), pendingItems(state));
  return text.split('\n').map((line) => `    ${line}`);
}

/** What is asked for, without what is the same in every command of a run, and without the note to the model: its words change. */
function askedLine(command: RunCommand): string {
  const same = ['type', 'limits', 'definition', 'storeId', 'snapshot', 'note'];
  const text = JSON.stringify(command, (key, value: unknown) =>
    same.includes(key) ? undefined : value,
  );
  return `  ask: ${command.type} ${text}`;
}

/** The event, what it put into the timeline, what it asks for, and what a page shows of the run that it did not show before. */
function stepLines({ event, before, after, commands }: StoryStep): readonly string[] {
  const shownBefore = before === undefined ? [] : shownLines(before);
  const said = commands.map((command) => {
    if (command.type !== 'publish') return askedLine(command);
    const entry = timelineText(command.entry);
    return `  ${entry?.tone ?? 'news'}: ${entry?.text ?? command.entry.type}`;
  });
  return [event.type, ...said, ...shownLines(after).filter((line) => !shownBefore.includes(line))];
}

function storyOf(steps: readonly StoryStep[]): string {
  const last = steps.at(-1)?.after;
  const view = last === undefined ? {} : statusView(last);
  return [
    ...steps.flatMap(stepLines),
    ...Object.entries(view).map(([name, value]) => `  ${name} = ${JSON.stringify(value)}`),
  ].join('\n');
}

const histories = path.join(__dirname, '..', 'replay', 'histories');
const recordings = readdirSync(histories).filter((file) => file.endsWith('.json'));

async function recordedStory(file: string): Promise<string> {
  const text = readFileSync(path.join(histories, file), 'utf8');
  return storyOf(await stepsOf(JSON.parse(text)));
}

/** Ways of each small agent. */
const seeds = [1, 2, 3];
const ways = Object.entries(smallAgents).flatMap(([name, agent]) =>
  seeds.map((seed) => ({ name: `${name}, way ${seed}`, agent, seed })),
);

function wayStory(agent: SmallAgent, seed: number): string {
  const steps: StoryStep[] = [];
  const core = loadCore();
  const noted = (decided: Transition, event: RunEvent, before?: RunState): Transition => {
    const [after, commands] = decided;
    steps.push({ event, before, after, commands });
    return decided;
  };
  const next = randomOf(seed);
  const [start] = opened(
    {
      ...core,
      initialTransition: (event) => noted(core.initialTransition(event), event),
      transition: (before, event) => noted(core.transition(before, event), event, before),
    },
    agent,
  );
  walk(start, (limit) => Math.floor(next() * limit));
  return storyOf(steps);
}

const fixtureOf = (name: string): string => path.join(__dirname, 'fixtures', `${name}.txt`);

function write(name: string, stories: readonly (readonly [string, string])[]): void {
  const text = stories.map(([title, story]) => `# ${title}\n${story}\n`).join('\n');
  writeFileSync(fixtureOf(name), text);
}

function kept(name: string): ReadonlyMap<string, string> {
  const parts = readFileSync(fixtureOf(name), 'utf8').split(/^# /m).slice(1);
  return new Map(
    parts.map((part): [string, string] => {
      const [title = '', ...lines] = part.trimEnd().split('\n');
      return [title, lines.join('\n')];
    }),
  );
}

async function writeAll(): Promise<void> {
  const ofRecordings = recordings.map(async (file) => [file, await recordedStory(file)] as const);
  write('recorded-stories', await Promise.all(ofRecordings));
  write(
    'agent-stories',
    ways.map(({ name, agent, seed }) => [name, wayStory(agent, seed)]),
  );
}

beforeAll(async () => {
  if (process.env['HOLDFAST_WRITE_STORIES'] === '1') await writeAll();
});

const keptRecordings = kept('recorded-stories');
const keptWays = kept('agent-stories');

test.each(recordings)('%s reads as it is kept', async (file) => {
  expect(await recordedStory(file)).toBe(keptRecordings.get(file));
});

test.each(ways)('$name reads as it is kept', ({ name, agent, seed }) => {
  expect(wayStory(agent, seed)).toBe(keptWays.get(name));
});
