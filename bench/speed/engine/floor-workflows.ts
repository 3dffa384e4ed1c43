/** The floor: loops that do as little as a durable agent on Temporal can, and the loop that keeps the conversation in its history. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';

/** A message of the loop that passes the whole conversation to each model call. */
interface NaiveMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly toolCallId?: string;
  readonly toolCall?: {
    readonly id: string;
    readonly name: string;
    readonly input: { readonly k: number; readonly size: number };
  };
}

interface FloorReply {
  readonly ref: string;
  readonly done?: true;
}

/** Activities of the floor's workflows. */
export interface FloorActivities {
  model(iterations: number, index: number): Promise<FloorReply>;
  tool(ref: string, size: number): Promise<string>;
  naiveModel(messages: readonly NaiveMessage[]): Promise<NaiveMessage>;
  naiveTool(input: { readonly k: number; readonly size: number }): Promise<string>;
}

const options = { startToCloseTimeout: '1 minute' } as const;
const { model, tool, naiveModel, naiveTool } = proxyActivities<FloorActivities>(options);
const local = proxyLocalActivities<FloorActivities>(options);

/** Two activities an iteration; history has references only. */
export async function floor(iterations: number, size: number): Promise<string> {
  for (let index = 0; ; index += 1) {
    const reply = await model(iterations, index);
    if (reply.done === true) return reply.ref;
    await tool(reply.ref, size);
  }
}

/** The same with the tool as a local activity. */
export async function floorLocal(iterations: number, size: number): Promise<string> {
  for (let index = 0; ; index += 1) {
    const reply = await model(iterations, index);
    if (reply.done === true) return reply.ref;
    await local.tool(reply.ref, size);
  }
}

/** The conversation travels to each model call, and so is in history once for each. */
export async function naive(system: string, prompt: string): Promise<string> {
  const messages: NaiveMessage[] = [
    { role: 'system', content: system },
    { role: 'user', content: prompt },
  ];
  for (;;) {
    const reply = await naiveModel(messages);
    messages.push(reply);
    if (reply.toolCall === undefined) return reply.content;
    const content = await naiveTool(reply.toolCall.input);
    messages.push({ role: 'tool', toolCallId: reply.toolCall.id, content });
  }
}
