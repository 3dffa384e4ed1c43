/** The smallest image of each kind, as real encoders write it, and images and documents as a request has them. */
import { checkMedia } from '../../../activities/media/check-media';
import { contentHash } from '../../../activities/stores/content-hash';
import { mediaShape } from '../../../activities/stores/content/message-shape';
import type { MediaBlock } from '../../../workflows/core/message';

/** A block with these bytes (base64). Errors: for what is neither an image nor a PDF. */
export function loadedBlock(data: string, type: MediaBlock['type'] = 'image'): MediaBlock {
  const checked = checkMedia({ type, data });
  if ('problem' in checked) throw new Error(checked.problem);
  const { content, facts } = checked;
  const block = mediaShape.parse({ ...facts, ref: contentHash(content) });
  return { ...block, data: content.toString('base64') };
}

/** By its media type's last word. */
export const pixel: Readonly<Record<'png' | 'gif' | 'webp' | 'jpeg', MediaBlock>> = {
  png: loadedBlock(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  ),
  gif: loadedBlock('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'),
  webp: loadedBlock('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA'),
  jpeg: loadedBlock(
    '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=',
  ),
};
