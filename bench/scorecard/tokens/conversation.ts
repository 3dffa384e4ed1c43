/** Conversations as an agent has them: a goal, then tool calls whose results are of one kind or of all. */
import { loadedBlock } from '../transcripts/pixels';
import type { MediaBlock, Message } from '../../../workflows/core/message';
import type { Dice } from './dice';
import type { Material, MaterialSource } from './materials';
import { materials } from './materials';

/** Kinds of conversations. */
export type ConversationKind = Material | 'images' | 'mixed' | 'thoughts';

/** All kinds. */
export const conversationKinds: readonly ConversationKind[] = [
  ...materials,
  'images',
  'mixed',
  'thoughts',
];

/** Characters of a short and of a long piece: a listing, a whole file. */
const shortest = 300;
const longest = 16_000;

/** What the transcript gains before a call: the goal, or the last call's result and sometimes a person's message. */
export function nextMessages(
  kind: ConversationKind,
  call: number,
  openCallIds: readonly string[],
  sources: { readonly texts: MaterialSource; readonly dice: Dice },
): readonly Message[] {
  const { texts, dice } = sources;
  const piece = (): string =>
    texts.text(materialOf(kind, dice), shortest + dice.below(longest - shortest), dice);
  const results: readonly Message[] =
    openCallIds.length === 0
      ? []
      : [
          {
            role: 'tool',
            results: openCallIds.map((toolCallId) => ({
              type: 'tool-result',
              toolCallId,
              name: 'read_file',
              content: piece(),
              isError: false,
            })),
          },
        ];
  const speaks = call === 0 || dice.below(4) === 0;
  const images = kind === 'images' && dice.below(2) === 0 ? [image(dice)] : [];
  if (!speaks && images.length === 0) return results;
  const text = texts.text(materialOf(kind, dice), 400, dice);
  return [...results, { role: 'user', blocks: [...images, { type: 'text', text }] }];
}

function materialOf(kind: ConversationKind, dice: Dice): Material {
  if (kind === 'mixed') return dice.pick(materials);
  return kind === 'images' || kind === 'thoughts' ? 'code' : kind;
}

/** A PNG as far as its header goes, which is as far as anybody here reads it. */
function image(dice: Dice): MediaBlock {
  const bytes = Buffer.alloc(900);
  bytes.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 0, 'latin1');
  bytes.writeUInt32BE(200 + dice.below(2_600), 16);
  bytes.writeUInt32BE(200 + dice.below(2_600), 20);
  return loadedBlock(bytes.toString('base64'));
}
