/** A situation in which a run gets stuck: some tools, a model that misuses them, and the advice that it needs. */
import type { z } from 'zod';
import type { Tool } from '../../../activities/tools/tool';
import { defineTool } from '../../../activities/tools/define-tool';
import type { ToolErrorCode } from '../../../activities/tools/tool-error';
import { ToolError } from '../../../activities/tools/tool-error';
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import type { Step } from '../../../testing/emulator/script';
import { reply } from '../../../testing/emulator/script';
import type { JsonObject } from '../../../workflows/core/json';

/** All that a model can read in a request. */
export interface View {
  /** The whole conversation as text. */
  readonly text: string;
  /** The runtime's note, where there is one, and whatever else stands at the end. */
  readonly last: string;
  /** The model's own last call. */
  readonly lastCall: { readonly name: string; readonly input: JsonObject } | undefined;
}

/** One situation. Contract: neither rule counts calls; both answer by what they read. */
export interface StuckCase {
  readonly id: string;
  /** `recovers` without a person; `escalates`: a person is what is missing; `gives-up`: nothing helps. */
  readonly right: 'recovers' | 'escalates' | 'gives-up';
  readonly goal: string;
  readonly tools: readonly Tool[];
  readonly model: (view: View) => Step;
  readonly planner: (prompt: string) => Step;
  /** What the person answers, who is asked. */
  readonly answer?: string;
}

/** Reads a request as a model does. */
export function viewOf(request: RecordedRequest): View {
  const made = request.toolCalls.at(-1);
  return {
    text: request.conversation.turns
      .map((turn) => [turn.text, ...turn.toolResults.map(({ content }) => content)].join('\n'))
      .join('\n'),
    last: request.lastUserText,
    lastCall:
      made === undefined
        ? undefined
        : { name: made.name, input: JSON.parse(made.argumentsText) as JsonObject },
  };
}

/** A call. */
export function calls(name: string, input: JsonObject): Step {
  return reply.toolCalls([{ name, input }]);
}

/** A plan, as a planner's model gives it. */
export function plans(
  strategy: string,
  confidence: number,
  action: { toolName?: string; parameters?: JsonObject; escalationMessage?: string },
  reasoning = 'The data names what is missing.',
): Step {
  const { toolName = '', parameters, escalationMessage = '' } = action;
  const parametersJson = parameters === undefined ? '' : JSON.stringify(parameters);
  return reply.text(
    JSON.stringify({
      strategy,
      reasoning,
      action: { toolName, parametersJson, escalationMessage },
      expectedOutcome: 'The run gets on.',
      confidence,
    }),
  );
}

/** A planner that has nothing to say. */
export const clueless = (): Step => reply.text('Hard to tell. Perhaps try something else.');

/** A tool of the small world. */
export function tool(
  name: string,
  description: string,
  input: z.ZodObject,
  execute: (input: Readonly<Record<string, unknown>>) => string,
  more: { effect?: 'read' | 'keyed'; hint?: string } = {},
): Tool {
  return defineTool({
    name,
    description,
    input,
    effect: more.effect ?? 'read',
    ...(more.hint === undefined ? {} : { hint: more.hint }),
    execute: (given) => execute(given),
  });
}

/** Fails a tool. */
export function fails(message: string, code?: ToolErrorCode): never {
  throw new ToolError(message, code === undefined ? {} : { code });
}

/** What a run's end looks like to its model: the small world gave this. */
export const treasure = 'TREASURE';

/** Ends the run where the treasure is in sight, else goes on. */
export function untilTreasure(next: (view: View) => Step): (view: View) => Step {
  return (view) => (view.text.includes(treasure) ? reply.text('Found it.') : next(view));
}

/** Parameters that the runtime advises. */
export function advisedInput({ last }: View): JsonObject | undefined {
  const [, json] = /Parameters to use: (\{.*\})/.exec(last) ?? [];
  return json === undefined ? undefined : (JSON.parse(json) as JsonObject);
}
