/** What a person said as blocks of the transcript: texts, images and documents in their order, and text files as text (ADR 0056). */
import type { Attachment, Said } from '../../workflows/core/message';
import { attachmentLabel, attachmentsOf, textOf } from '../../workflows/core/attachments';
import { personTextChars } from '../../workflows/core/limits';
import type { ContentHash, MediaBlock, TextBlock, UserMessage } from '../../workflows/core/message';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { readOutputTool } from '../../workflows/core/tools/ports';
import { wellFormedText } from '../providers/request/well-formed';
import type { Store } from '../stores/store';
import { fenceToolOutput } from '../untrusted/fence';

type Reading = Pick<Store, 'getBlob' | 'hasBlob'>;

/** Whoever sends a signal may name anything; what the store does not have must not end the run. */
const notStored = (label: string): string =>
  `[The runtime has no bytes of ${label.slice(1, -1)}: they are not in the store of this run.]`;

function isMedia(attachment: Attachment): attachment is MediaBlock {
  return attachment.type === 'image' || attachment.mediaType === 'application/pdf';
}

function textBlock(text: string): TextBlock {
  return { type: 'text', text: stripHidden(text) };
}

/** A text file as the model reads it: fenced as data, with where to read on if it is long. */
async function fileText(store: Reading, file: Attachment, label: string): Promise<string> {
  const text = (await store.getBlob(file.ref)).toString('utf8');
  const shown = stripHidden(wellFormedText(text.slice(0, personTextChars)));
  const more =
    text.length > personTextChars
      ? `\n[The file has ${file.bytes} bytes; only its beginning is here. Read on with ${readOutputTool}, ref "${file.ref}".]`
      : '';
  return `${label}\n${fenceToolOutput('attached_file', shown)}${more}`;
}

async function blockOf(
  store: Reading,
  attachment: Attachment,
  label: string,
): Promise<TextBlock | MediaBlock> {
  if (!(await store.hasBlob(attachment.ref))) return { type: 'text', text: notStored(label) };
  return isMedia(attachment)
    ? attachment
    : { type: 'text', text: await fileText(store, attachment, label) };
}

/** The refs of text files of which only the beginning is shown. */
function refsIn(attachments: readonly Attachment[]): readonly ContentHash[] {
  // No character has fewer bytes, so a shorter file is whole.
  return attachments.flatMap((each) =>
    isMedia(each) || each.bytes <= personTextChars ? [] : [each.ref],
  );
}

/**
 * The blocks of what a person said. An attachment stands where the text names it, else at the end.
 *
 * Contract: deterministic, so that a repeated attempt appends the same node.
 * Errors: those of the store.
 */
export async function saidBlocks(
  store: Reading,
  given: Said,
): Promise<Pick<UserMessage, 'blocks' | 'refs'>> {
  const attachments = attachmentsOf(given);
  const blocks: (TextBlock | MediaBlock)[] = [];
  let rest = textOf(given);
  for (const [index, attachment] of attachments.entries()) {
    const label = attachmentLabel(attachment, index);
    const at = rest.indexOf(label);
    const before = at < 0 ? '' : rest.slice(0, at).replace(/\n$/, '');
    if (before.trim() !== '') blocks.push(textBlock(before));
    blocks.push(await blockOf(store, attachment, label));
    if (at >= 0) rest = rest.slice(at + label.length).replace(/^\n/, '');
  }
  if (rest.trim() !== '' || attachments.length === 0) blocks.push(textBlock(rest));
  const refs = refsIn(attachments);
  return { blocks, ...(refs.length > 0 && { refs }) };
}

/** An answer that is the result of a call: its text with its text files, and the images and documents behind it. */
export async function answerParts(
  store: Reading,
  text: string,
  attachments: readonly Attachment[],
): Promise<{ readonly content: string; readonly media?: readonly MediaBlock[] }> {
  const blocks = await Promise.all(
    attachments.map((each, index) => blockOf(store, each, attachmentLabel(each, index))),
  );
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const content = [stripHidden(text), ...texts].join('\n');
  const media = blocks.filter((block) => block.type !== 'text');
  return { content, ...(media.length > 0 && { media }) };
}
