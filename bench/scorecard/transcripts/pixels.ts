/** The smallest image of each kind, as real encoders write it. */
import type { ImageBlock } from '../../../workflows/core/message';

/** By its media type's last word. */
export const pixel: Readonly<Record<'png' | 'gif' | 'webp' | 'jpeg', ImageBlock>> = {
  png: {
    type: 'image',
    mediaType: 'image/png',
    data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  },
  gif: {
    type: 'image',
    mediaType: 'image/gif',
    data: 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  },
  webp: {
    type: 'image',
    mediaType: 'image/webp',
    data: 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA',
  },
  jpeg: {
    type: 'image',
    mediaType: 'image/jpeg',
    data: '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=',
  },
};
