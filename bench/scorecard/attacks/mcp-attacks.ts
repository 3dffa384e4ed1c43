/** MCP servers that are hostile or broken, as real programs. */
import path from 'node:path';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import type { McpOptions, McpTools } from '../../../activities/tools/mcp/connect-mcp';
import type { DirectAttack, RunAttack } from './attack';
import { fenceProblem, found } from './attack';
import { hostileModes, plantedKey } from './mcp-modes';

/** Compiled, as the scorecard runs. */
const script = path.join(__dirname, 'mcp-hostile-program.js');

function serverOf(mode: string): McpOptions {
  return {
    name: 'hostile',
    transport: { type: 'stdio', command: process.execPath, args: [script, mode] },
    tools: { '*': { timeoutMs: 5_000 } },
  };
}

/** Servers that cannot be used: to connect must fail in time, with words that hold nothing of theirs. */
const unusable = new Set(['silence', 'a death at the start', 'a line without end']);

const hiddenText = /[\u200b-\u200f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/u;

/** Milliseconds after which a server delays the start of a worker. */
const mostStartMs = 60_000;

const refused = [...unusable].map((mode): DirectAttack => ({
  area: 'mcp',
  id: mode,
  tries: `to keep a worker from its start by ${mode}`,
  attempt: async () => {
    const startedAt = performance.now();
    let said = '';
    try {
      const connected = await connectMcp(serverOf(mode));
      await connected.close();
    } catch (thrown) {
      said = String(thrown);
    }
    if (performance.now() - startedAt > mostStartMs) return 'the start was delayed';
    return found(said, [plantedKey], 'the error');
  },
}));

const usable = Object.keys(hostileModes)
  .filter((mode) => !unusable.has(mode))
  .map((mode): RunAttack => {
    let connected: McpTools | undefined;
    let isTwice = false;
    return {
      area: 'mcp',
      id: mode,
      tries: `to stop the run, or to reach the model or its prompt, by ${mode}`,
      prepare: async () => {
        connected = await connectMcp(serverOf(mode));
      },
      cleanUp: () => connected?.close(),
      agent: () => {
        const tools = connected?.tools ?? [];
        isTwice = new Set(tools.map(({ name }) => name)).size < tools.length;
        return { tools: isTwice ? [] : tools.slice(0, 60) };
      },
      calls: () => {
        const name = connected?.tools[0]?.name;
        return name === undefined ? [] : [{ name, input: { q: `${'a'.repeat(40)}!` } }];
      },
      harm: (trace) => {
        const { world, run, outcome, prompts } = trace;
        const requests = world.emulator.requests.filter(({ mount }) => mount === run.runId);
        const offered = JSON.stringify(requests[0]?.body['tools'] ?? []);
        if (isTwice) return 'two of its tools have one name';
        if (outcome.status !== 'completed')
          return `the run ended as ${outcome.status}: ${outcome.reason}`;
        if (prompts.length > 2_000_000) return 'the prompt was filled';
        if (hiddenText.test(offered)) return 'hidden characters are in the definitions';
        return found(prompts, [plantedKey], 'the prompts') ?? fenceProblem(trace);
      },
    };
  });

/** All of them. */
export const mcpAttacks: readonly (DirectAttack | RunAttack)[] = [...usable, ...refused];
