/** What sends the inputs: tools that give them and fail with them, and an emulated vendor whose refusals quote them. */
import { z } from 'zod';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { defineTool } from '../../../activities/tools/define-tool';
import type { Tool } from '../../../activities/tools/tool';
import { ToolError } from '../../../activities/tools/tool-error';
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import type { Step } from '../../../testing/emulator/script';
import { fault, reply } from '../../../testing/emulator/script';
import { anthropic } from '../provider/vendor-bodies';
import type { SanitizeInput } from './sanitise-inputs';
import { sanitizeInputs } from './sanitise-inputs';

/** Inputs that one run takes: six tools each give 60 calls, of the 64 that a reply may have. */
const inputsPerRun = 10;

/** The hint of the tools' author: the only one that may be read as advice besides the runtime's own. */
export const authorHint = 'The author of the tool says: try another place.';

const model = 'claude-sonnet-5';

const place = z.object({ place: z.number() });
const textAt = (index: number): string => sanitizeInputs[index]?.text ?? '';

function refused(text: string): Error {
  const cause = new Error(`caused by ${text}`);
  return Object.assign(new Error(text, { cause }), {
    config: { headers: { authorization: text } },
    response: { status: 500, data: { message: text } },
  });
}

/** Tools of this process; those of the MCP server are beside them. */
export function givingTools(): readonly Tool[] {
  const base = { description: 'Gives an input.', input: place, effect: 'read' } as const;
  return [
    defineTool({ ...base, name: 'give_text', execute: ({ place: at }) => textAt(at) }),
    defineTool({
      ...base,
      name: 'give_json',
      execute: ({ place: at }, { progress }) => {
        progress(textAt(at));
        return { value: textAt(at), list: [textAt(at)] };
      },
    }),
    defineTool({
      ...base,
      name: 'fail_known',
      execute: ({ place: at }) => {
        throw new ToolError(textAt(at), { hint: authorHint, output: textAt(at) });
      },
    }),
    defineTool({
      ...base,
      name: 'fail_thrown',
      execute: ({ place: at }) => {
        throw refused(textAt(at));
      },
    }),
  ];
}

/** The inputs of one run. */
export interface Batch {
  readonly index: number;
  readonly inputs: readonly SanitizeInput[];
}

/** All inputs in batches, or those of these batches. */
export function batchesOf(indexes?: readonly number[]): readonly Batch[] {
  const count = Math.ceil(sanitizeInputs.length / inputsPerRun);
  return Array.from({ length: count }, (_, index) => ({
    index,
    inputs: sanitizeInputs.slice(index * inputsPerRun, (index + 1) * inputsPerRun),
  })).filter(({ index }) => indexes?.includes(index) ?? true);
}

/** Limits that leave the guard out of the section: what is tested is text. */
const limits = {
  maxIterations: 20,
  streamRetries: 0,
  maxActiveMs: 3_600_000,
  maxProviderWaitMs: 0,
} as const;

/** One agent on native calls, whose first routes all refuse, and one on the text protocol. */
export function agentsOf(batch: Batch, tools: readonly Tool[]): readonly AgentDefinition[] {
  const instructions = 'You take what tools give.';
  const answering = { provider: 'anthropic', model };
  const [first, ...more] = batch.inputs.map((_, at) => ({
    provider: 'anthropic',
    // Nobody knows these models' windows: their names only tell the emulator which input to refuse with.
    model: `${model}-${batch.index}-${at}`,
    windowTokens: 200_000,
  }));
  return [
    {
      name: `native-${batch.index}`,
      instructions,
      chain: first === undefined ? [answering] : [first, ...more, answering],
      tools,
      limits,
    },
    {
      name: `text-${batch.index}`,
      instructions,
      chain: [{ ...answering, toolProtocol: 'text' }],
      tools,
      limits,
    },
  ];
}

/** The goal; an injection also comes as a person's words. */
export function goalOf(batch: Batch, protocol: 'native' | 'text'): string {
  const injected = batch.inputs.filter(({ secrets }) => secrets.length === 0);
  return [`${protocol} ${batch.index}`, ...injected.map(({ text }) => text)].join('\n');
}

function textCall(at: number): Step {
  const call = JSON.stringify({ tool_name: 'give_text', arguments: { place: at } });
  return reply.text(`\`\`\`json\n${call}\n\`\`\``);
}

/** What the emulated vendor answers. */
export function answerTo(request: RecordedRequest, toolNames: readonly string[]): Step {
  const [, failing, at] = /-(\d+)-(\d+)$/.exec(request.model) ?? [];
  if (failing !== undefined && at !== undefined) {
    const text = textAt(Number(failing) * inputsPerRun + Number(at));
    return fault.http(500, { body: anthropic('api_error', text) });
  }
  const goal = request.conversation.turns[0]?.text ?? '';
  const [, protocol, index] = /^(native|text) (\d+)/.exec(goal) ?? [];
  const from = Number(index) * inputsPerRun;
  const asked = (request.messagesCount - 1) / 2;
  if (protocol === 'text')
    return asked < inputsPerRun ? textCall(from + asked) : reply.text('done');
  if (asked > 0) return reply.text('done');
  const calls = toolNames.flatMap((name) =>
    Array.from({ length: inputsPerRun }, (_, n) => ({ name, input: { place: from + n } })),
  );
  return reply.toolCalls(calls);
}
