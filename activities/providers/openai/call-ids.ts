/** The ids of tool calls as a server takes them. */
import { createHash } from 'node:crypto';
import type { ToolCallBlock, ToolResultBlock } from '../../../workflows/core/message';
import { perObject } from '../request/per-object';
import { shortenedId } from '../request/transcript-repair';
import type { ChatDialect } from './chat-dialect';

/** Longest tool call id that every server accepts. Source: microsoft/autogen#6377. */
const maxShortLength = 40;

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Nine letters or digits that stand for an id. Source of the nine: "must be a-z, A-Z, 0-9, with a length of 9" (nearai/ironclaw#1241). */
function nineOf(toolCallId: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(toolCallId)) return toolCallId;
  const bytes = createHash('sha256').update(toolCallId).digest().subarray(0, 9);
  return [...bytes].map((byte) => letters[byte % letters.length]).join('');
}

type CallOrResult = Pick<ToolCallBlock | ToolResultBlock, 'toolCallId'>;

const nineOfBlock = perObject(({ toolCallId }: CallOrResult) => nineOf(toolCallId));
const shortOfBlock = perObject(({ toolCallId }: CallOrResult) =>
  shortenedId(toolCallId, maxShortLength),
);

/**
 * The ids of one conversation.
 *
 * Contract: a call and its result have the same id, no two calls share one, and an id is the same in every later request of the
 * conversation, whoever made the call.
 */
export class CallIds {
  readonly #ids = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(private readonly form: ChatDialect['callIds'] = 'nine') {}

  /** The id that is sent for a call of the transcript, or for its result. */
  sent(block: CallOrResult): string {
    const { toolCallId } = block;
    const known = this.#ids.get(toolCallId);
    if (known !== undefined) return known;
    let id = this.form === 'nine' ? nineOfBlock(block) : shortOfBlock(block);
    for (let repeat = 1; this.#taken.has(id); repeat += 1)
      id = this.#formed(`${toolCallId}#${repeat}`);
    this.#ids.set(toolCallId, id);
    this.#taken.add(id);
    return id;
  }

  #formed(toolCallId: string): string {
    return this.form === 'nine' ? nineOf(toolCallId) : shortenedId(toolCallId, maxShortLength);
  }
}
