/** The text of a model's reply. */
import type { AssistantMessage } from '../../workflows/core/message';

/** The texts of a reply, refusals included if asked for, as one. */
export function replyText(
  { blocks }: Pick<AssistantMessage, 'blocks'>,
  { withRefusal = false } = {},
): string {
  return blocks
    .flatMap((block) =>
      block.type === 'text' || (withRefusal && block.type === 'refusal') ? [block.text] : [],
    )
    .join('\n')
    .trim();
}
