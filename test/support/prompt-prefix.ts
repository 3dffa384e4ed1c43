/** Prompts as vendors cache them: which blocks one request has in common with the one before. */
import { anthropicWire } from '../../testing/emulator/anthropic/anthropic-wire';
import { chatWire } from '../../testing/emulator/openai-chat/chat-wire';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import { responsesWire } from '../../testing/emulator/openai-responses/responses-wire';
import type { PromptBlock } from '../../testing/emulator/wire';

const wires = { anthropic: anthropicWire, responses: responsesWire, chat: chatWire } as const;

/** Tools, system prompt and messages of a request, block by block. */
export function promptOf(request: RecordedRequest): readonly PromptBlock[] {
  return wires[request.wire].promptBlocks(request.body);
}

/** How many blocks two prompts have in common at their beginning. */
export function commonBlocks(left: readonly PromptBlock[], right: readonly PromptBlock[]): number {
  const differs = left.findIndex(({ text }, index) => text !== right[index]?.text);
  return differs < 0 ? left.length : differs;
}

/** Requests to one route whose prompt is not the former's and more: nothing but a note, its last block, may be gone. */
export function brokenPrefixes(requests: readonly RecordedRequest[]): readonly number[] {
  const prompts = requests.map(promptOf);
  return prompts.flatMap((prompt, index) => {
    const former = prompts[index - 1] ?? [];
    return commonBlocks(former, prompt) < former.length - 1 ? [index] : [];
  });
}
