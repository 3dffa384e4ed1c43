/** Which tools serve the same purpose, and which tool a wrong name means. */
import { z } from 'zod';
import { alternativesOf } from '../../activities/definitions/tool-purpose';
import { defineTool } from '../../activities/tools/define-tool';
import { onlyNearestName } from '../../activities/tools/nearest-name';
import type { Tool } from '../../activities/tools/tool';
import { workspaceTools } from '../../activities/tools/workspace/workspace-tools';

function described(
  name: string,
  description: string,
  input: z.ZodType,
  effect: Tool['effect'] = 'read',
): Tool {
  return defineTool({ name, description, input, effect, execute: () => '' });
}

function alternatives(tools: readonly Tool[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    tools.flatMap((tool) => {
      const others = alternativesOf(tool, tools);
      return others.length === 0 ? [] : [[tool.name, others]];
    }),
  );
}

const city = z.object({ city: z.string(), unit: z.enum(['metric', 'imperial']) });

test('tools of the same purpose are alternatives, and none that does more to the world', () => {
  const tools = [
    described('get_weather', 'Gets the weather of a city.', city),
    described('weather_backup', 'Fetches the weather of a city from another service.', city),
    described('send_email', 'Sends an e-mail.', z.object({ to: z.email() }), 'keyed'),
    described('delete_email', 'Deletes an e-mail.', z.object({ id: z.string() }), 'irreversible'),
    described('read_file', 'Reads a file.', z.object({ path: z.string() })),
    described('cat_file', 'Shows the content of a file.', z.object({ file: z.string() })),
    described('write_file', 'Writes a file.', z.object({ path: z.string() }), 'keyed'),
    described('search_files', 'Searches files for a text.', z.object({ text: z.string() })),
  ];
  expect(alternatives(tools)).toEqual({
    get_weather: ['weather_backup'],
    weather_backup: ['get_weather'],
    read_file: ['cat_file'],
    cat_file: ['read_file'],
  });
});

test("the built-in workspace's tools are no alternatives of each other", () => {
  const built = alternatives(workspaceTools());
  expect(built['delete_file']).toBeUndefined();
  expect(built['read_file']).toBeUndefined();
});

test.each([
  ['readFile', 'read_file'],
  ['read', 'read_file'],
  ['serach_files', 'search_files'],
  ['get_file', undefined],
  ['launch_rocket', undefined],
  ['', undefined],
])('by %j the tool %s is meant', (name, meant) => {
  expect(onlyNearestName(name, ['read_file', 'search_files', 'write_file', 'show_file'])).toBe(
    meant,
  );
});
