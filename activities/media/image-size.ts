/** The type of an image by its first bytes, and its width and height by its header. */
import type { ImageBlock } from '../../workflows/core/message';

/** Pixels. */
export type ImageSize = Pick<ImageBlock, 'width' | 'height'>;

type ImageType = ImageBlock['mediaType'];

/** How the bytes of each type begin. */
const signatures: Readonly<Record<ImageType, RegExp>> = {
  'image/png': /^\x89PNG\r\n/,
  'image/gif': /^GIF8[79]a/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/webp': /^RIFF[^]{4}WEBP/,
};

const imageTypes = Object.keys(signatures) as readonly ImageType[];

/** The type of an image that models take; undefined for anything else. */
export function imageTypeOf(bytes: Buffer): ImageType | undefined {
  const head = bytes.toString('latin1', 0, 16);
  return imageTypes.find((type) => signatures[type].test(head));
}

/**
 * The image's size, or undefined if its header does not contain it.
 *
 * Contract: never throws; reads no more than a JPEG's segments up to its frame.
 */
export function imageSizeOf(mediaType: ImageType, bytes: Buffer): ImageSize | undefined {
  const size = readers[mediaType](bytes);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

type Reader = (bytes: Buffer) => ImageSize | undefined;

const readers: Readonly<Record<ImageType, Reader>> = {
  'image/png': pngSize,
  'image/gif': gifSize,
  'image/jpeg': jpegSize,
  'image/webp': webpSize,
};

function pngSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24 || bytes.toString('latin1', 1, 4) !== 'PNG') return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gifSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 10 || bytes.toString('latin1', 0, 4) !== 'GIF8') return undefined;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Walks the segments to the frame header: C0 to CF, but the tables C4, C8 and CC. */
function jpegSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.toString('latin1', 0, 2) !== '\xff\xd8') return undefined;
  let at = 2;
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function webpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) };
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    default:
      return undefined;
  }
}
