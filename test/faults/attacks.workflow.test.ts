/** The scorecard's attacks in small, and that the section can fail. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { RunAttack } from '../../bench/scorecard/attacks/attack';
import { attacks, scoreAttacks } from '../../bench/scorecard/attacks/score-attacks';
import { defineTool } from '../../activities/tools/define-tool';

/** Some of each area; MCP servers are programs, which only the compiled section runs (`test/tools` has others). */
const guarded = [
  'delete: a state folder by a link',
  'overwrite: git by dots',
  'runs later: .husky/pre-commit',
  'bare repository, HEAD last',
  'git in a bare repository',
  'a shell by a substitution',
  'own key, base64, one byte on, in a command',
  'key read from the second line',
  'key echoed with 401',
  'planted in a summary as an entry of the user',
  'start with limits that are no numbers',
  'approves another digest',
  'goal with a link in Markdown',
  'an output of its own',
  "another run's output, named by a person as a shortened text",
  'changed: a message of a transcript',
  'arguments with __proto__',
  'redirect with 307',
];

test('attacks of every area do no harm', async () => {
  const chosen = attacks.filter(({ id }) => guarded.includes(id));
  expect(chosen.map(({ id }) => id).sort()).toEqual([...guarded].sort());
  const { summary } = await scoreAttacks(chosen);
  expect(summary).toMatchObject({ attacks: guarded.length, gotThrough: [] });
});

test('there are at least 150, of all areas, no two alike', () => {
  const names = attacks.map(({ area, id }) => `${area}: ${id}`);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(150);
  expect([...new Set(attacks.map(({ area }) => area))].sort()).toEqual(
    'commands files injection mcp messages replies secrets store'.split(' '),
  );
});

test('an attack that does harm, and one that fails by itself, are reported', async () => {
  const harmful: RunAttack = {
    area: 'files',
    id: 'a tool without any guard',
    tries: 'to write outside of the workspace with a tool that does',
    agent: ({ folder }) => ({
      tools: [
        defineTool({
          name: 'write',
          description: 'Writes.',
          input: z.object({}),
          execute: () => {
            writeFileSync(path.join(folder, 'outside.txt'), 'taken');
            return 'written';
          },
        }),
      ],
    }),
    calls: () => [{ name: 'write', input: {} }],
    harm: ({ results }) => (results.join('').includes('written') ? 'it was written' : undefined),
  };
  const broken: RunAttack = {
    ...harmful,
    id: 'broken',
    harm: () => {
      throw new Error('no judge');
    },
  };
  const { summary, rows } = await scoreAttacks([harmful, broken]);
  expect(summary['gotThrough']).toEqual(
    expect.arrayContaining(['files: a tool without any guard', 'files: broken']),
  );
  expect(rows.flatMap(({ wrong }) => wrong?.got ?? [])).toEqual(
    expect.arrayContaining(['it was written', expect.stringContaining('no judge')]),
  );
});
