/**
 * What people read of recorded runs, step by step: timeline, status, and what waits for them.
 *
 * `fixtures/recorded-stories.txt` was read by a person. `HOLDFAST_WRITE_STORIES=1` writes it anew; read what changed.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Step } from '../../scripts/step';
import { stepsOf } from '../../scripts/step';
import type { RunState } from '../../workflows/core/run/state';
import { pendingItems } from '../../workflows/core/view/pending';
import { statusMarkdown } from '../../workflows/core/view/markdown';
import { statusView } from '../../workflows/core/view/status';
import { timelineText } from '../../workflows/core/view/timeline-text';

const directory = path.join(__dirname, '..', 'replay', 'histories');
const recordings = readdirSync(directory).filter((file) => file.endsWith('.json'));
const fixture = path.join(__dirname, 'fixtures', 'recorded-stories.txt');

function shownLines(state: RunState): readonly string[] {
  const text = statusMarkdown('run', statusView(state), pendingItems(state));
  return text.split('\n').map((line) => `    ${line}`);
}

/** The event, what it put into the timeline, and what a page shows of the run that it did not show before. */
function stepLines({ event, before, after, commands }: Step): readonly string[] {
  const entries = commands.flatMap((command) =>
    command.type === 'publish' ? [timelineText(command.entry)] : [],
  );
  const shownBefore = before === undefined ? [] : shownLines(before);
  return [
    event.type,
    ...entries.flatMap((entry) =>
      entry === undefined ? [] : [`  ${entry.tone ?? 'news'}: ${entry.text}`],
    ),
    ...shownLines(after).filter((line) => !shownBefore.includes(line)),
  ];
}

async function storyOf(file: string): Promise<string> {
  const steps = await stepsOf(JSON.parse(readFileSync(path.join(directory, file), 'utf8')));
  const last = steps.at(-1)?.after;
  const view = last === undefined ? {} : statusView(last);
  return [
    ...steps.flatMap(stepLines),
    ...Object.entries(view).map(([name, value]) => `  ${name} = ${JSON.stringify(value)}`),
  ].join('\n');
}

function keptStories(): ReadonlyMap<string, string> {
  const parts = readFileSync(fixture, 'utf8').split(/^# /m).slice(1);
  return new Map(
    parts.map((part): [string, string] => {
      const [name = '', ...lines] = part.trimEnd().split('\n');
      return [name, lines.join('\n')];
    }),
  );
}

if (process.env['HOLDFAST_WRITE_STORIES'] === '1')
  beforeAll(async () => {
    const stories = await Promise.all(
      recordings.map(async (file) => `# ${file}\n${await storyOf(file)}\n`),
    );
    writeFileSync(fixture, stories.join('\n'));
  });

test.each(recordings)('%s reads as it was read by a person', async (file) => {
  expect(await storyOf(file)).toBe(keptStories().get(file));
});
