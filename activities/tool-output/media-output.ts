/** Finds the images and files in what a tool returned: parts of the same type as those of a goal (ADR 0056). */
import type { ContentPart, MediaPart } from '../../workflows/core/attachments';
import type { CheckedMedia } from '../media/check-media';
import { checkMedia } from '../media/check-media';
import { maxMedia, OutputWithMedia, shownMedia } from '../tools/output-with-media';

const mediaKeys: readonly string[] = ['type', 'data', 'mediaType', 'name'];

/** Whether a value is a part with bytes. An object with other fields is data, whatever its type is called. */
function isMediaPart(value: unknown): value is MediaPart {
  if (typeof value !== 'object' || value === null) return false;
  const { type, data, mediaType, name } = value as Readonly<Record<string, unknown>>;
  const isText = (field: unknown): boolean => field === undefined || typeof field === 'string';
  return (
    (type === 'image' || type === 'file') &&
    (data instanceof Uint8Array || typeof data === 'string') &&
    isText(mediaType) &&
    isText(name) &&
    Object.keys(value).every((key) => mediaKeys.includes(key))
  );
}

function isTextPart(value: unknown): value is Extract<ContentPart, { type: 'text' }> {
  if (typeof value !== 'object' || value === null) return false;
  const { type, text } = value as Readonly<Record<string, unknown>>;
  return type === 'text' && typeof text === 'string' && Object.keys(value).length === 2;
}

/** The parts in a value that is one, or nothing but parts, of which one at least has bytes. */
function partsIn(output: unknown): readonly ContentPart[] | undefined {
  if (isMediaPart(output)) return [output];
  if (!Array.isArray(output)) return undefined;
  const items: readonly unknown[] = output;
  const areParts = items.every(
    (item): item is ContentPart => isMediaPart(item) || isTextPart(item),
  );
  return areParts && items.some(isMediaPart) ? items : undefined;
}

/**
 * What a tool returned, with its images and documents apart from the text; unchanged if it has none.
 *
 * Contract: never throws: the call is done. What cannot be shown says why in its place; a text file is text.
 */
export function withMediaApart(output: unknown): unknown {
  const parts = partsIn(output);
  if (parts === undefined) return output;
  const media: CheckedMedia[] = [];
  const texts = parts.map((part) => {
    if (part.type === 'text') return part.text;
    const named = part.name === undefined ? part.type : `${part.type} ${part.name}`;
    const checked = checkMedia(part);
    if ('problem' in checked) return `[${named}, not shown: ${checked.problem}]`;
    if (checked.facts.type === 'file' && checked.facts.pages === undefined)
      return `[${named}, ${checked.facts.bytes} bytes]\n${checked.content.toString('utf8')}`;
    if (media.length >= maxMedia)
      return `[${named}, not shown: more than ${maxMedia} in one result]`;
    media.push(checked);
    return shownMedia(checked);
  });
  return new OutputWithMedia(texts.join('\n'), media);
}
