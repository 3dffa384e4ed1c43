/** Reads the answer of a subagent off its transcript: what it said last, and nothing else. */
import type { AssistantMessage } from '../../workflows/core/message';
import { completeTaskTool } from '../../workflows/core/tools/ports';
import type { SubagentAnswer } from '../../workflows/core/subagents/subagent';
import { canonicalJson } from '../stores/content-hash';
import type { Store } from '../stores/store';

function answerIn({ blocks }: AssistantMessage): string {
  const parts = blocks.flatMap((block) => {
    if (block.type === 'text') return [block.text];
    if (block.type !== 'tool-call' || block.name !== completeTaskTool) return [];
    const { summary, result } = block.input;
    return [
      ...(typeof summary === 'string' ? [summary] : []),
      ...(result === undefined ? [] : [canonicalJson(result)]),
    ];
  });
  return parts.join('\n\n').trim();
}

/**
 * The answer's text.
 *
 * Errors: those of the store.
 */
export async function readSubagentAnswer(store: Store, { head }: SubagentAnswer): Promise<string> {
  const messages = await store.loadTranscript(head);
  const last = messages.findLast((message) => message.role === 'assistant');
  return last === undefined ? '' : answerIn(last);
}
