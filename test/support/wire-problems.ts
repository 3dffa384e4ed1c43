/** What every vendor refuses in a transcript, in neutral words. */
import type { Message } from '../../workflows/core/message';

function callIds(message: Message | undefined): readonly string[] {
  if (message?.role !== 'assistant') return [];
  return message.blocks.flatMap((block) => (block.type === 'tool-call' ? [block.toolCallId] : []));
}

function textProblems(message: Message, at: string): readonly string[] {
  if (message.role === 'tool') {
    const blank = message.results.some((result) => result.content.trim() === '');
    return [...(blank ? [`${at} has a blank result`] : [])];
  }
  if (message.blocks.length === 0) return [`${at} is empty`];
  const blank = message.blocks.some((block) => block.type === 'text' && block.text.trim() === '');
  return blank ? [`${at} has blank text`] : [];
}

function pairProblems(message: Message, before: Message | undefined, at: string): string[] {
  const open = callIds(before);
  if (message.role !== 'tool')
    return open.length > 0 ? [`${at}: calls before it have no results`] : [];
  const answered = message.results.map((result) => result.toolCallId);
  return JSON.stringify(answered) === JSON.stringify(open)
    ? []
    : [`${at}: results ${answered.join()} do not answer calls ${open.join()}`];
}

/** Lists what is wrong with the messages of one request; none where every wire takes them. */
export function wireProblems(messages: readonly Message[]): readonly string[] {
  const problems: string[] = [];
  const ids = messages.flatMap(callIds);
  if (new Set(ids).size < ids.length) problems.push('a tool call id stands twice');
  if (messages[0]?.role !== 'user') problems.push('the first message is not the user’s');
  if (messages.at(-1)?.role === 'assistant') problems.push('the last message is the model’s');
  messages.forEach((message, index) => {
    const before = messages[index - 1];
    const at = `message ${index} (${message.role})`;
    problems.push(...textProblems(message, at), ...pairProblems(message, before, at));
    if (message.role === 'assistant' && before?.role === 'assistant')
      problems.push(`${at} follows another of the model`);
  });
  return problems;
}
