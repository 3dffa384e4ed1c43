/** Situations that need another tool, the same tool later, or no tool at all. */
import { z } from 'zod';
import type { Step } from '../../../testing/emulator/script';
import { reply } from '../../../testing/emulator/script';
import type { ToolErrorCode } from '../../../activities/tools/tool-error';
import type { JsonObject } from '../../../workflows/core/json';
import type { StuckCase, View } from './stuck-case';
import { calls, clueless, fails, plans, tool, treasure, untilTreasure } from './stuck-case';

const query = z.object({ query: z.string() });

/** A model that sticks to its tools, one after the other. */
function stubborn(names: readonly string[], input: JsonObject): (view: View) => Step {
  return untilTreasure((view) => {
    const index = names.indexOf(view.lastCall?.name ?? '');
    return calls(names[(index + 1) % names.length] ?? '', input);
  });
}

/** Plans the tool whose description the prompt gives for an end. */
function pickTool(end: string, input: JsonObject): (prompt: string) => Step {
  return (prompt) => {
    const [, name] = new RegExp(`(\\w+): [^\\n]*${end}`).exec(prompt) ?? [];
    return name === undefined
      ? clueless()
      : plans('alternative-tool', 0.9, { toolName: name, parameters: input });
  };
}

const deadTools: readonly StuckCase[] = ['mirror', 'archive', 'replica'].map((other, seed) => {
  const input = { query: `report ${seed}` };
  return {
    id: `dead tool ${seed + 1}`,
    right: 'recovers',
    goal: 'Get the report.',
    tools: [
      tool('primary', 'Gets reports.', query, () => fails('connection refused by 10.0.0.1:443')),
      tool(other, 'Gets reports too, from a copy that is a day old.', query, () => treasure),
    ],
    model: stubborn(['primary'], input),
    planner: pickTool('from a copy', input),
  };
});

const wrongTools: readonly StuckCase[] = ['grep', 'find_text', 'scan'].map((right, seed) => {
  const input = { query: `needle ${seed}` };
  return {
    id: `wrong tool ${seed + 1}`,
    right: 'recovers',
    goal: `Find the text needle ${seed}.`,
    tools: [
      tool('list_names', 'Lists names that match.', query, () => 'no match'),
      tool(right, 'Searches inside of files.', query, () => `a.txt: ${treasure}`),
    ],
    model: stubborn(['list_names'], input),
    planner: pickTool('inside of files', input),
  };
});

const alternating: readonly StuckCase[] = [2, 3].map((count) => {
  const names = ['look', 'peek', 'glance'].slice(0, count);
  const input = { query: 'the door' };
  return {
    id: `alternating ${count} tools`,
    right: 'recovers',
    goal: 'Open the door.',
    tools: [
      ...names.map((name) => tool(name, 'Looks at it.', query, () => 'a closed door')),
      tool('push', 'Opens what is closed.', query, () => treasure, { effect: 'keyed' }),
    ],
    model: stubborn(names, input),
    planner: pickTool('what is closed', input),
  };
});

const createFile: readonly StuckCase[] = ['notes.md', 'todo.txt'].map((file, seed) => ({
  id: `missing file that must be created ${seed + 1}`,
  right: 'recovers',
  goal: `See to it that ${file} says hello.`,
  tools: [
    tool('read', 'Reads a file.', z.object({ path: z.string() }), () => fails('no such file')),
    tool(
      'create',
      'Creates a file that is not there yet.',
      z.object({ path: z.string(), text: z.string() }),
      ({ path, text }) => `${treasure}: ${String(path)} says ${String(text)}`,
      { effect: 'keyed' },
    ),
  ],
  model: untilTreasure(() => calls('read', { path: file })),
  planner: pickTool('not there yet', { path: file, text: 'hello' }),
}));

/** The small world is out of order for some calls, whoever makes them. */
function flakyTool(code: ToolErrorCode, failures: number): StuckCase['tools'][number] {
  let left = failures;
  return tool('quote', 'Gives a price.', query, () => {
    left -= 1;
    return left >= 0 ? fails('try again later', code) : treasure;
  });
}

const flaky: readonly StuckCase[] = (['tool_timeout', 'tool_execution_failed'] as const).map(
  (code) => ({
    id: `flaky tool, ${code}`,
    right: 'recovers',
    goal: 'Get the price.',
    tools: [
      flakyTool(code, 3),
      tool('ponder', 'Thinks about it.', query, () => 'nothing comes to mind'),
    ],
    // It does not dare to ask again until somebody does it for it.
    model: untilTreasure((view) =>
      view.text.includes('nothing comes to mind') || view.lastCall === undefined
        ? calls('quote', { query: 'tea' })
        : calls('ponder', { query: 'tea' }),
    ),
    planner: (prompt) =>
      prompt.includes('try again later')
        ? plans('retry', 0.85, { toolName: 'quote', parameters: { query: 'tea' } })
        : clueless(),
  }),
);

/** Advice in words alone: by the planner, or, where that is clueless, by the runtime's own rules. */
const advice: readonly StuckCase[] = [
  {
    id: 'endless re-reading, told to answer by the planner',
    right: 'recovers',
    goal: 'Say what the file holds.',
    tools: [tool('read_it', 'Reads the file.', query, () => 'It holds numbers.')],
    model: (view) =>
      view.last.includes('answer with what you know')
        ? reply.text('It holds numbers.')
        : calls('read_it', { query: 'all' }),
    planner: (prompt) =>
      prompt.includes('It holds numbers.')
        ? plans('parameter-adjustment', 0.9, {}, 'The file was read: answer with what you know.')
        : clueless(),
  },
  {
    id: 'endless re-reading, told to answer by the rules',
    right: 'recovers',
    goal: 'Say what the file holds.',
    tools: [tool('read_it', 'Reads the file.', query, () => 'It holds letters.')],
    model: (view) =>
      view.last.includes('answer with what is known')
        ? reply.text('It holds letters.')
        : calls('read_it', { query: 'all' }),
    planner: clueless,
  },
  {
    id: 'a hint that was overlooked, repeated by the rules',
    right: 'recovers',
    goal: 'Repair the clock.',
    tools: [
      tool(
        'wind',
        'Winds the clock.',
        z.object({ turns: z.number() }),
        ({ turns }) => (turns === 7 ? treasure : fails('it does not tick')),
        { hint: 'Seven turns are needed.' },
      ),
    ],
    model: untilTreasure((view) =>
      view.last.includes('You are stuck') && view.last.includes('Seven turns')
        ? calls('wind', { turns: 7 })
        : calls('wind', { turns: 1 }),
    ),
    planner: clueless,
  },
];

/** The planner's first idea is wrong; what was tried without success shows it. */
const secondThought: StuckCase = {
  id: 'a first way out that does not help',
  right: 'recovers',
  goal: 'Get the key.',
  tools: [
    tool('drawer', 'Opens the drawer.', query, () => 'an empty drawer'),
    tool('shelf', 'Looks on the shelf.', query, () => fails('the shelf is out of reach')),
    tool('mat', 'Looks under the mat.', query, () => treasure),
  ],
  model: stubborn(['drawer'], { query: 'key' }),
  planner: (prompt) => {
    const next = /Recovery actions that did not help[^]*alternative-tool shelf/.test(prompt)
      ? 'mat'
      : 'shelf';
    return plans('alternative-tool', 0.85, { toolName: next, parameters: { query: 'key' } });
  },
};

/** Sixteen situations, most of them about tools. */
export const toolCases: readonly StuckCase[] = [
  ...deadTools,
  ...wrongTools,
  ...alternating,
  ...createFile,
  ...flaky,
  ...advice,
  secondThought,
];
