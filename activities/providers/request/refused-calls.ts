/**
 * A conversation without its refused calls: a small model repeats the calls that it sees in its own history. Their errors were told
 * when they came (R-ERR-1); what they taught is kept (ADR 0090).
 */
import { defaultHint } from '../../../workflows/core/errors/tool-response';
import type { AgentErrorCode } from '../../../workflows/core/failure';
import type { Message, ToolResultBlock } from '../../../workflows/core/message';
import { isRecord } from '../untrusted-json';
import { perObject } from './per-object';

/** Codes of errors of calls that did nothing. */
const refusals: ReadonlySet<unknown> = new Set<AgentErrorCode>([
  'invalid_json',
  'invalid_params',
  'invalid_tool',
]);

/** Hints that are kept, the newest. */
const keptHints = 3;

/** What a result is as a refusal: its hint in one line, empty if it has none. */
interface Refusal {
  readonly isRefusal: boolean;
  readonly hint: string;
}

const notRefused: Refusal = { isRefusal: false, hint: '' };

const refusalIn = perObject(({ isError, content }: ToolResultBlock): Refusal => {
  if (!isError) return notRefused;
  try {
    const error: unknown = JSON.parse(content);
    if (!isRecord(error) || !refusals.has(error['code'])) return notRefused;
    const { hint } = error;
    const isOwn = typeof hint === 'string' && hint !== defaultHint;
    return { isRefusal: true, hint: isOwn ? hint.replace(/\s+/g, ' ').trim() : '' };
  } catch {
    return notRefused;
  }
});

/** The message without these calls and results; undefined if nothing is left of it. */
function without(message: Message, refused: ReadonlySet<string>): Message | undefined {
  if (message.role === 'user') return message;
  if (message.role === 'tool') {
    const results = message.results.filter(({ toolCallId }) => !refused.has(toolCallId));
    if (results.length === message.results.length) return message;
    return results.length === 0 ? undefined : { ...message, results };
  }
  const blocks = message.blocks.filter(
    (block) => block.type !== 'tool-call' || !refused.has(block.toolCallId),
  );
  if (blocks.length === message.blocks.length) return message;
  return blocks.some(({ type }) => type === 'tool-call') ? { ...message, blocks } : undefined;
}

/**
 * The conversation without refused calls and their results, except for the newest results, and the hints of those whose tool has not
 * worked since, oldest first.
 */
export function withoutRefusedCalls(messages: readonly Message[]): {
  readonly messages: readonly Message[];
  readonly hints: readonly string[];
} {
  const steps = messages.flatMap((message) => (message.role === 'tool' ? [message.results] : []));
  const earlier = steps
    .slice(0, -1)
    .flat()
    .map((result, at) => ({ ...refusalIn(result), result, at }))
    .filter(({ isRefusal }) => isRefusal);
  if (earlier.length === 0) return { messages, hints: [] };
  const workedAt = new Map<string, number>();
  for (const [at, { name, isError }] of steps.flat().entries())
    if (!isError) workedAt.set(name, at);
  const hints = earlier
    .filter(({ hint, result, at }) => hint !== '' && (workedAt.get(result.name) ?? -1) < at)
    .map(({ hint }) => hint);
  const ids = new Set(earlier.map(({ result }) => result.toolCallId));
  return {
    messages: messages.flatMap((message) => without(message, ids) ?? []),
    hints: [...new Set(hints)].slice(-keptHints),
  };
}
