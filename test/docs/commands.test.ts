/** Commands in the documents exist, with the options that the documents give them. */
import { z } from 'zod';
import { commandGroups, type CommandSpec } from '../../workers/cli/commands';
import { documents, sourceText, writtenCode } from './documents';

/** The changelog also names what is gone. */
const readable = documents().filter(({ file }) => file !== 'CHANGELOG.md');

interface Use {
  readonly file: string;
  readonly name: string;
  readonly options: readonly string[];
}

/** Uses of a program in code blocks and in back quotes: the word behind it, and the options in the same command. */
function usesOf(program: string): readonly Use[] {
  const call = new RegExp(`(?:^|[ (])${program} ([a-z][\\w:-]*)([^\\n#]*)`, 'gm');
  return readable.flatMap((document) =>
    writtenCode(document).flatMap((code) =>
      [...code.replaceAll('\\\n', ' ').matchAll(call)].map(([, name = '', rest = '']) => ({
        file: document.file,
        name,
        options: rest.match(/(?<= )--[a-z-]+/g) ?? [],
      })),
    ),
  );
}

const all = Object.values(commandGroups).flat();
const ofEvery = ['--json', '--help'];

function optionsOf({ options = [], subcommands = [] }: CommandSpec): readonly string[] {
  return [
    ...options.flatMap(({ long }) => (typeof long === 'string' ? [long] : [])),
    ...subcommands.flatMap(optionsOf),
  ];
}

test('commands of holdfast', () => {
  const uses = usesOf('holdfast');
  expect(uses.length).toBeGreaterThan(80);
  const wrong = uses.filter(({ name, options }) => {
    const command = all.find((each) => each.name === name);
    const known = command && [...optionsOf(command), ...ofEvery];
    return known === undefined || options.some((option) => !known.includes(option));
  });
  expect(wrong).toEqual([]);
});

test('scripts of npm', () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(sourceText('package.json')));
  const uses = usesOf('npm run(?: --silent)?');
  expect(uses.length).toBeGreaterThan(40);
  expect(uses.filter(({ name }) => scripts[name] === undefined)).toEqual([]);
});
