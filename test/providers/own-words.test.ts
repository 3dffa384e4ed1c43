/** What Holdfast itself says in a first request stays short: a small model reads every word of it as its task (R-WORDS-6). */
import { z } from 'zod';
import { createAgentCatalog } from '../../activities/definitions/agent-catalog';
import { countAllTokens } from '../../activities/measure/count-tokens';
import { inputSignature } from '../../activities/providers/request/input-signature';
import { renderTextProtocolRequest } from '../../activities/providers/request/text-tool-protocol';
import { offered } from '../../activities/tool-output/stored-outputs';
import type { RunDefinition } from '../../activities/definitions/activity-deps';
import type { Tool } from '../../activities/tools/tool';
import { defineTool } from '../../activities/tools/define-tool';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import { workspaceTools } from '../../activities/tools/workspace/workspace-tools';
import type { Completion } from '../../workflows/core/run/ports';
import { requestFor, userMessage } from './support/provider-bench';
import type { ToolSpec } from '../../activities/providers/provider';

const book = defineTool({
  name: 'book',
  description: 'Books a room.',
  input: z.object({ room: z.string() }),
  execute: () => 'booked',
});

const four = workspaceTools({ commands: false }).slice(0, 4);

interface Sent {
  readonly system: string;
  readonly tools: readonly ToolSpec[];
}

const instructions = 'You book rooms for guests.';

/** What the first request of an agent holds beside its messages. */
function firstRequest(tools: readonly Tool[], completion: Completion): Sent {
  const { agents } = createAgentCatalog(
    [
      {
        name: 'clerk',
        instructions,
        completion,
        chain: [{ provider: 'openai', model: 'gpt-5' }],
        tools,
      },
    ],
    [openaiProvider({ api: 'responses', apiKey: 'test-key' })],
  );
  const agent = agents.get('clerk');
  if (agent === undefined) throw new Error('the agent is in its catalog');
  const config = { ...agent, system: agent.systemWith(instructions, { completion }) };
  const definition = { agent, config } as unknown as RunDefinition;
  return offered(definition, [userMessage('Book room 12.')]).config;
}

const specText = ({ name, description, inputSchema }: ToolSpec): string =>
  JSON.stringify({ name, description, inputSchema });

/** Tokens that a request has beside instructions and tools of the agent itself, as a plain loop sends them. */
function nativeTokens(tools: readonly Tool[], completion: Completion): number {
  const sent = firstRequest(tools, completion);
  const all = [sent.system, ...sent.tools.map(specText)];
  const plain = [instructions, ...tools.map(specText)];
  const sum = (texts: readonly string[]): number =>
    texts.reduce((total, text) => total + countAllTokens(text), 0);
  return sum(all) - sum(plain);
}

/** The same in the text protocol, in which name, description, and signature of each tool are the agent's. */
function textTokens(tools: readonly Tool[]): number {
  const request = requestFor('chat', firstRequest(tools, 'text'));
  const { system } = renderTextProtocolRequest(request);
  const plain = [
    instructions,
    ...tools.map((tool) => `${tool.name}${tool.description}${inputSignature(tool.inputSchema)}`),
  ];
  return plain.reduce((left, text) => left - countAllTokens(text), countAllTokens(system));
}

describe.each<readonly [string, readonly Tool[]]>([
  ['one small tool', [book]],
  ['four tools', four],
])('an agent with %s', (_what, tools) => {
  test('pays at most 90 tokens for the words of Holdfast with native calls', () => {
    expect(firstRequest(tools, 'text').tools).toHaveLength(tools.length);
    expect(nativeTokens(tools, 'text')).toBeGreaterThan(0);
    expect(nativeTokens(tools, 'text')).toBeLessThanOrEqual(90);
  });

  test('pays at most 150 in the text protocol', () => {
    expect(textTokens(tools)).toBeGreaterThan(0);
    expect(textTokens(tools)).toBeLessThanOrEqual(150);
  });

  test('pays for the two tools of completion "tool" beside that', () => {
    expect(nativeTokens(tools, 'tool')).toBeLessThanOrEqual(230);
  });
});
