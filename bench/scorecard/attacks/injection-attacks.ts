/** Texts that try to pass for somebody else, by every way on which they reach a model or a person. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import { ToolError } from '../../../activities/tools/tool-error';
import { workspaceTools } from '../../../activities/tools/workspace/workspace-tools';
import { fenceProblem } from './attack';
import { injectionStrings } from '../sanitise/injection-strings';
import type { AttackGround, RunAttack } from './attack';

/** One way for a text to come in. */
type Way = (text: string) => Pick<RunAttack, 'agent' | 'calls' | 'prepare'>;

function toolThat(execute: () => string): Pick<RunAttack, 'agent' | 'calls'> {
  const input = z.object({});
  const tool = { name: 'look', description: 'Looks.', input, effect: 'read' } as const;
  return {
    agent: () => ({ tools: [defineTool({ ...tool, execute })] }),
    calls: () => [{ name: 'look', input: {} }],
  };
}

const files = (): ReturnType<NonNullable<RunAttack['agent']>> => ({
  programs: 'may-approve',
  tools: workspaceTools({ commands: { effect: 'read' } }),
});

/** A name that a file may have: no slash, no NUL, at most 255 bytes. */
function fileName(text: string): string {
  return Buffer.from(text.replace(/[/\0]/g, '_')).subarray(0, 200).toString('utf8');
}

const ways: Readonly<Record<string, Way>> = {
  'an error': (text) =>
    toolThat(() => {
      throw new ToolError(text);
    }),
  'an error with output': (text) =>
    toolThat(() => {
      throw new ToolError('It failed.', { output: text });
    }),
  'a thrown error': (text) =>
    toolThat(() => {
      throw new Error(text);
    }),
  'the name of a file': (text) => ({
    agent: files,
    prepare: ({ workspace }: AttackGround) => {
      writeFileSync(path.join(workspace, fileName(text)), 'x');
    },
    calls: () => [{ name: 'list_files', input: {} }],
  }),
  'a found line': (text) => ({
    agent: files,
    prepare: ({ workspace }: AttackGround) => {
      writeFileSync(path.join(workspace, 'notes.txt'), `needle ${text}`);
    },
    calls: () => [{ name: 'search_files', input: { query: 'needle' } }],
  }),
  'a failed command': (text) => ({
    agent: files,
    calls: () => [
      {
        name: 'run_command',
        input: {
          command: [
            'node',
            '-e',
            'console.error(process.argv[1]); process.exit(1)',
            text.replaceAll('\0', '_'),
          ],
        },
      },
    ],
  }),
  'a path that the model gave': (text) => ({
    agent: files,
    calls: () => [{ name: 'read_file', input: { path: text } }],
  }),
};

/** Every so many of the 100 strings, from another one for each way, so that all kinds come by some way. */
const everyNth = 20;

/** All of them. */
export const injectionAttacks: readonly RunAttack[] = Object.entries(ways).flatMap(
  ([way, made], first) =>
    injectionStrings
      .map((text, index) => ({ text, index }))
      .filter(({ index }) => index % everyNth === (first * 3) % everyNth)
      .map(({ text, index }): RunAttack => ({
        area: 'injection',
        id: `string ${index} in ${way}`,
        tries: `to speak for the runtime or to close its fence by ${way}`,
        ...made(text),
        harm: fenceProblem,
      })),
);
