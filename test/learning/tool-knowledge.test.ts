/** What is known of tools from their definitions alone, and the hints that come of it. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { hintFromKnowledge, withKnownHint } from '../../activities/knowledge/hint-from-knowledge';
import type {
  KnowledgeQuestion,
  MadeKnowledge,
} from '../../activities/knowledge/knowledge-of-agent';
import { knowledgeByModel } from '../../activities/knowledge/knowledge-of-agent';
import type { KnownTool } from '../../activities/definitions/tool-knowledge';
import { knowledgeByRules } from '../../activities/knowledge/knowledge-by-rules';
import { onlyNearestName } from '../../activities/tools/nearest-name';
import { defineTool } from '../../activities/tools/define-tool';
import { workspaceTools } from '../../activities/tools/workspace/workspace-tools';
import { scriptedProvider } from '../../testing/scripted-provider';
import { defaultLimits } from '../../workflows/core/limits';
import { aRoute, anAgentError } from '../support/builders';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

function known(
  name: string,
  description: string,
  input: z.ZodType,
  effect: KnownTool['effect'] = 'read',
): KnownTool {
  const { inputSchema } = defineTool({ name, description, input, effect, execute: () => '' });
  return { name, description, inputSchema, effect };
}

const city = z.object({ city: z.string(), unit: z.enum(['metric', 'imperial']) });
const tools: readonly KnownTool[] = [
  known('get_weather', 'Gets the weather of a city.', city),
  known('weather_backup', 'Fetches the weather of a city from another service.', city),
  known('send_email', 'Sends an e-mail.', z.object({ to: z.email(), body: z.string() }), 'keyed'),
  known('delete_email', 'Deletes an e-mail.', z.object({ id: z.string() }), 'irreversible'),
  known('read_file', 'Reads a file.', z.object({ path: z.string(), lines: z.number().max(500) })),
  known('cat_file', 'Shows the content of a file.', z.object({ file: z.string() })),
  known('write_file', 'Writes a file.', z.object({ path: z.string() }), 'keyed'),
  known('search_files', 'Searches files for a text.', z.object({ text: z.string() })),
  known('book', 'Books a room.', z.object({ day: z.iso.date() }), 'irreversible'),
];
const knowledge = knowledgeByRules(tools);

test('tools of the same purpose are alternatives, and none that does more to the world', () => {
  expect(knowledge.alternatives).toEqual({
    get_weather: ['weather_backup'],
    weather_backup: ['get_weather'],
    read_file: ['cat_file'],
    cat_file: ['read_file'],
  });
});

test("the built-in workspace's tools are no alternatives of each other", () => {
  const { alternatives, hints } = knowledgeByRules(workspaceTools());
  expect(alternatives['delete_file']).toBeUndefined();
  expect(alternatives['read_file']).toBeUndefined();
  expect(hints['read_file']?.find(({ mistake }) => mistake === 'wrong-path')?.hint).toContain(
    'search_files',
  );
});

test.each([
  ['read_file', 'ENOENT: no such file', { path: 'a.ts' }, /whole path as results of search_files/],
  ['read_file', 'ENOENT: no such file', { path: 'src/a.ts:12' }, /whole path/],
  ['read_file', 'ENOENT: no such file', { path: 'src/a.ts' }, undefined],
  ['read_file', 'lines is too large', { path: 'src/a.ts' }, /at most 500/],
  ['get_weather', 'unit must not be celsius', { unit: 'celsius' }, /"metric", "imperial"/],
  ['get_weather', 'connect ECONNREFUSED', {}, /Other tools for the same purpose: weather_backup/],
  ['book', 'day cannot be read', { day: 'tomorrow' }, /a date such as/],
  ['send_email', 'to is wrong', { to: 'me' }, /e-mail address/],
  ['send_email', 'connect ECONNREFUSED', {}, undefined],
])('%s, which failed with "%s" on %j, is advised %s', (tool, message, input, hint) => {
  const error = anAgentError({ message, toolName: tool });
  const advice = hintFromKnowledge(knowledge, tool, error, input);
  if (hint === undefined) expect(advice).toBeUndefined();
  else expect(advice).toMatch(hint);
});

test("a tool's own hint wins, and a tool that is not known gets none", () => {
  const own = anAgentError({ message: 'ENOENT', toolName: 'read_file', hint: 'mine' });
  expect(withKnownHint(own, knowledge, { path: 'a.ts' }).hint).toBe('mine');
  const other = anAgentError({ message: 'ENOENT', toolName: 'nowhere' });
  expect(withKnownHint(other, knowledge, { path: 'a.ts' })).toEqual(other);
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

describe('knowledge by a model', () => {
  const answer = JSON.stringify({
    tools: [
      {
        name: 'read_file',
        alternatives: ['write_file', 'cat_file', 'nowhere'],
        hints: [{ mistake: 'invented', parameter: null, hint: 'Read little at once.\nReally.' }],
      },
      { name: 'nowhere', hints: [{ mistake: 'other', hint: 'x' }] },
    ],
  });
  let stored: TemporaryStore;
  let heard: object[];
  let nowMs = Date.now();
  beforeEach(async () => {
    stored = await temporaryStore();
    heard = [];
  });
  afterEach(() => stored.dispose());

  function asked(
    provider: KnowledgeQuestion['provider'],
    more: Pick<KnowledgeQuestion, 'allowance'> = {},
    heartbeatDetails?: object,
  ): Promise<MadeKnowledge> {
    const { store } = stored;
    const capped = { tenant: 'default' };
    const place = { store, provider, route: aRoute(), limits: defaultLimits, capped };
    const question = { ...place, tools, ...more };
    // Each question comes an hour after the one before, by the server's clock: the route has recovered from its failure.
    nowMs += 3_600_000;
    const environment = new MockActivityEnvironment({
      heartbeatDetails,
      currentAttemptScheduledTimestampMs: nowMs,
    });
    environment.on('heartbeat', (details: object) => heard.push(details));
    return environment.run(() => knowledgeByModel(question));
  }

  it('is asked for once per set of tools, is kept to what there is, and adds to the rules', async () => {
    const provider = scriptedProvider('alpha', [{ text: `Here:\n\`\`\`json\n${answer}\n\`\`\`` }]);
    const { knowledge: first, spend } = await asked(provider);
    expect(await asked(provider)).toEqual({ knowledge: first });
    // The vendor of this script tells no usage: our own count stands.
    expect(spend?.estimated?.tokens).toBeGreaterThan(100);
    expect(provider.requests).toHaveLength(1);
    expect(first.alternatives['read_file']).toEqual(['cat_file']);
    expect(first.alternatives['get_weather']).toEqual(['weather_backup']);
    expect(first.hints['read_file']?.[0]).toEqual({
      mistake: 'other',
      hint: 'Read little at once. Really.',
    });
    expect(first.hints['nowhere']).toBeUndefined();
  });

  it.each([
    ['fails', { failure: { code: 'overloaded' as const, message: 'busy' } }],
    ['says something else', { text: 'I cannot.' }],
    ['answers in another form', { text: '{"tools": 1}' }],
  ])('is that of the rules where the model %s, and is asked for again', async (_, step) => {
    const provider = scriptedProvider('alpha', [step, step]);
    expect(await asked(provider)).toMatchObject({ knowledge });
    expect(await asked(provider)).toMatchObject({ knowledge });
    provider.assertDrained();
  });

  it('is that of the rules where the budget does not pay for the question, and nobody is asked', async () => {
    const provider = scriptedProvider('alpha', []);
    expect(await asked(provider, { allowance: { tokens: 1_000 } })).toEqual({ knowledge });
    expect(provider.requests).toEqual([]);
  });

  it('charges what a dead worker may have consumed, also where it had kept its answer', async () => {
    const provider = scriptedProvider('alpha', [{ text: answer }]);
    await asked(provider);
    const { spend } = await asked(provider, {}, heard[0]);
    expect(spend?.usage.inputTokens).toBeGreaterThan(100);
    expect(spend?.usage.outputTokens).toBe(0);
    expect(spend?.estimated?.mostTokens).toBeGreaterThan(3_000);
    expect(provider.requests).toHaveLength(1);
  });

  it('is charged once if another attempt must prepare the run again', async () => {
    const provider = scriptedProvider('alpha', [{ text: answer }]);
    const { spend } = await asked(provider);
    expect(await asked(provider, {}, heard.at(-1))).toMatchObject({ spend });
    expect(provider.requests).toHaveLength(1);
  });
});
