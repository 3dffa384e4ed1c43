/** Blocks that only their vendor reads: uses of tools that the vendor itself runs, and their results. */
import type { AssistantMessage, Message, VendorBlock } from '../../../workflows/core/message';
import { asText } from '../untrusted-json';
import { perObject } from './per-object';

/** Types of blocks that are kept: `server_tool_use`, `web_search_tool_result`, `mcp_tool_use`, and their like. */
const keptTypes = /_(?:use|result)$/;

/** True for a block that the transcript keeps for its vendor, although it means nothing to us. */
export function isKeptType(type: string): boolean {
  return keptTypes.test(type);
}

/** The use whose result this block is; empty for a use. */
function answeredUse({ content }: VendorBlock): string {
  return asText(content['tool_use_id']);
}

/** Those of a message, of whichever vendor. */
export const vendorBlocksIn = perObject(({ blocks }: AssistantMessage): readonly VendorBlock[] =>
  blocks.filter((block) => block.type === 'vendor-block'),
);

function openUsesOf(blocks: readonly VendorBlock[]): ReadonlySet<VendorBlock> {
  const answered = new Set(blocks.map(answeredUse));
  return new Set(
    blocks.filter(
      (block) => answeredUse(block) === '' && !answered.has(asText(block.content['id'])),
    ),
  );
}

/** True if the vendor paused within a tool of its own: it continues from there, and refuses any message behind it. */
export function endsOpen(messages: readonly Message[], vendor: string): boolean {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return false;
  return openUsesOf(vendorBlocksIn(last).filter((block) => block.vendor === vendor)).size > 0;
}

/**
 * The blocks that may be sent: each use with its result in the same turn of the model, and, where the conversation ends open, the
 * uses at its end.
 */
export function sendableVendorBlocks(
  messages: readonly Message[],
  vendor: string,
  isOpen: boolean,
): ReadonlySet<VendorBlock> {
  const sendable = new Set<VendorBlock>();
  let turn: VendorBlock[] = [];
  const endTurn = (isLast: boolean): void => {
    if (turn.length === 0) return;
    const open = openUsesOf(turn);
    const uses = new Set(turn.map(({ content }) => asText(content['id'])));
    for (const block of turn) {
      const isPaired = answeredUse(block) === '' || uses.has(answeredUse(block));
      if (isPaired && (!open.has(block) || (isLast && isOpen))) sendable.add(block);
    }
    turn = [];
  };
  for (const message of messages) {
    if (message.role !== 'assistant') endTurn(false);
    else for (const block of vendorBlocksIn(message)) if (block.vendor === vendor) turn.push(block);
  }
  endTurn(true);
  return sendable;
}
