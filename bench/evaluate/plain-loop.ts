/** The same loop and tools without Holdfast: what went wrong is told as its raw text, or not at all. */
import type { AnyTool, Tool } from '../../activities/tools/tool';
import type { ModelReply, ModelRequest, Provider } from '../../activities/providers/provider';
import {
  parseTextProtocolReply,
  renderTextProtocolRequest,
} from '../../activities/providers/request/text-tool-protocol';
import { ToolError } from '../../activities/tools/tool-error';
import type { JsonObject } from '../../workflows/core/json';
import type { Message, ToolResultBlock } from '../../workflows/core/message';
import type { Arm, ArmRun, ModelUnderTest, Task } from './arm';
import { maxIterations, maxOutputTokens, maxRunMs, providerOf } from './arm';

const sentName = 'evaluate';

/** A call that was read from a reply, before its input is checked. */
interface WantedCall {
  readonly name: string;
  readonly argumentsText: string;
}

/** What a reply says, read as a plain loop reads it. */
type ReadReply =
  | { readonly type: 'answer'; readonly text: string }
  | { readonly type: 'calls'; readonly calls: readonly WantedCall[]; readonly text: string }
  | {
      readonly type: 'mistake';
      readonly code: string;
      readonly message: string;
      readonly text: string;
    };

function textIn({ blocks }: ModelReply): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

function readReply(reply: ModelReply, protocol: ModelUnderTest['protocol']): ReadReply {
  const text = textIn(reply);
  if (protocol === 'native') {
    const { toolCalls: calls } = reply;
    return calls.length === 0 ? { type: 'answer', text } : { type: 'calls', calls, text };
  }
  // A plain loop does not know the names of the tools when it looks for a block.
  const read = parseTextProtocolReply(text, { requireCall: false, tools: [] });
  if (read.type === 'call') return { type: 'calls', calls: [read], text: read.said };
  return { ...read, text };
}

/** What a call came to. */
interface CallEnd {
  readonly content: string;
  readonly code?: string;
  readonly input?: JsonObject;
}

function inputOf(argumentsText: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(argumentsText);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : 'the arguments are not an object';
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** Runs one call as a plain loop does. */
export async function runCall(
  tools: readonly AnyTool[],
  { name, argumentsText }: WantedCall,
  runId: string,
): Promise<CallEnd> {
  const tool = tools.find((each) => each.name === name) as Tool | undefined;
  if (tool === undefined) return { content: `unknown tool ${name}`, code: 'invalid_tool' };
  const input = inputOf(argumentsText);
  if (typeof input === 'string') return { content: input, code: 'invalid_json' };
  const parsed = tool.parse(input);
  if (!parsed.ok) return { content: parsed.problems.join('; '), code: 'invalid_params', input };
  try {
    const context = {
      ...{ runId, agent: 'plain', tenant: 'default', workspace: undefined, context: undefined },
      ...{ toolCallId: 'call', idempotencyKey: 'call', attempt: 1 },
      signal: AbortSignal.timeout(maxRunMs),
      progress: () => undefined,
      readBlob: () => Promise.reject(new Error('A plain loop stores no outputs.')),
    };
    return { content: String(await tool.execute(parsed.value, context)), input };
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    // All that the tool's author says: the arms differ in what is done with it.
    const content = [thrown.message, thrown.hint ?? ''].join(' ').trim();
    return { content, code: thrown.code, input };
  }
}

const said = (role: 'user' | 'assistant', text: string): Message =>
  role === 'user'
    ? { role, blocks: [{ type: 'text', text }] }
    : { role, vendor: sentName, model: '', blocks: [{ type: 'text', text }] };

/** One loop at work. */
class PlainLoop {
  private readonly messages: Message[];
  private readonly turns: string[][] = [];
  private readonly tools: readonly AnyTool[];
  private inputTokens = 0;
  private outputTokens = 0;
  private readonly endsAtMs = Date.now() + maxRunMs;

  constructor(
    private readonly model: ModelUnderTest,
    private readonly provider: Provider,
    private readonly task: Task,
    /** What the model reads in place of an error's text. */
    private readonly shown: (error: string) => string,
  ) {
    this.messages = [said('user', task.drawn.goal)];
    this.tools = task.family.tools(() => task.world);
  }

  private end(status: string, answer = ''): ArmRun {
    const { turns, inputTokens, outputTokens } = this;
    return { status, answer, turns, inputTokens, outputTokens };
  }

  private async ask(): Promise<ModelReply> {
    const { model, task, tools, provider } = this;
    const request: ModelRequest = {
      model: model.name,
      system: task.family.instructions,
      messages: this.messages,
      tools: tools.map(({ name, description, inputSchema }) => ({
        name,
        description,
        inputSchema,
      })),
      maxOutputTokens,
      settings: { temperature: model.temperature, extraBody: { seed: task.seed } },
    };
    const reply = await provider.send(
      model.protocol === 'text' ? renderTextProtocolRequest(request) : request,
      {
        signal: AbortSignal.timeout(maxRunMs),
        firstByteMs: maxRunMs,
        betweenBytesMs: maxRunMs,
        onText: () => undefined,
      },
    );
    this.inputTokens += reply.usage.inputTokens + reply.usage.cacheReadTokens;
    this.outputTokens += reply.usage.outputTokens;
    return reply;
  }

  private async runCalls(calls: readonly WantedCall[], text: string): Promise<void> {
    const ends: CallEnd[] = [];
    for (const call of calls) ends.push(await runCall(this.tools, call, this.task.runId));
    const codes = ends.flatMap(({ code }) => (code === undefined ? [] : [code]));
    this.turns.push(codes);
    const id = (at: number): string => `call_${this.turns.length}_${at}`;
    const blocks = calls.map(({ name }, at) => ({
      type: 'tool-call' as const,
      toolCallId: id(at),
      name,
      input: ends[at]?.input ?? {},
    }));
    const results = ends.map(({ content, code }, at): ToolResultBlock => ({
      type: 'tool-result',
      toolCallId: id(at),
      name: calls[at]?.name ?? '',
      content: code === undefined ? content : this.shown(content),
      isError: code !== undefined,
    }));
    const before = text === '' ? [] : [{ type: 'text' as const, text }];
    this.messages.push(
      { role: 'assistant', vendor: sentName, model: '', blocks: [...before, ...blocks] },
      { role: 'tool', results },
    );
  }

  async run(): Promise<ArmRun> {
    while (this.turns.length < maxIterations) {
      if (Date.now() >= this.endsAtMs) return this.end('out of time');
      const reply = await this.ask();
      const read = readReply(reply, this.model.protocol);
      if (read.type === 'answer') {
        this.turns.push([]);
        return this.end('completed', read.text);
      }
      if (read.type === 'calls') await this.runCalls(read.calls, read.text);
      else {
        this.turns.push([read.code]);
        this.messages.push(said('assistant', read.text), said('user', this.shown(read.message)));
      }
    }
    return this.end('out of iterations');
  }
}

/** The arms without Holdfast: the raw text of each error stays in the conversation, or the model learns only that it failed. */
export function plainArm(model: ModelUnderTest, tells: 'raw-error' | 'nothing'): Arm {
  const provider = providerOf(model);
  const shown = (error: string): string => (tells === 'raw-error' ? `Error: ${error}` : 'Failed.');
  return (task) => new PlainLoop(model, provider, task, shown).run();
}
