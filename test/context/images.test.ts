/** Sizes of images, read from their headers, and what vendors charge for them. */
import { imageSizeOf, imageTypeOf } from '../../activities/media/image-size';
import { mediaTokens } from '../../activities/measure/media-tokens';
import { loadedBlock } from '../../bench/scorecard/transcripts/pixels';

/** Real files of one pixel or so, by their makers' encoders. */
const files = {
  'image/png':
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'image/gif': 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'image/webp': 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA',
  'image/jpeg':
    '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=',
} as const;

function png(width: number, height: number): string {
  const bytes = Buffer.from(files['image/png'], 'base64');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString('base64');
}

/** A lossless and an extended WebP, as far as their headers go. */
function webp(kind: 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const bytes = Buffer.alloc(32);
  bytes.write('RIFF....WEBP', 0, 'latin1');
  bytes.write(kind, 12, 'latin1');
  if (kind === 'VP8L') bytes.writeUInt32LE(((height - 1) << 14) | (width - 1), 21);
  else {
    bytes.writeUIntLE(width - 1, 24, 3);
    bytes.writeUIntLE(height - 1, 27, 3);
  }
  return bytes;
}

test.each(Object.entries(files))('reads the size of a real %s', (mediaType, data) => {
  const bytes = Buffer.from(data, 'base64');
  expect(imageTypeOf(bytes)).toBe(mediaType);
  expect(imageSizeOf(mediaType as keyof typeof files, bytes)).toEqual({ width: 1, height: 1 });
});

test.each(['VP8L', 'VP8X'] as const)('reads the size of a WebP of the kind %s', (kind) => {
  expect(imageSizeOf('image/webp', webp(kind, 1_234, 567))).toEqual({ width: 1_234, height: 567 });
});

test('reads the size of a JPEG behind 60 KB of metadata', () => {
  const bytes = Buffer.from(files['image/jpeg'], 'base64');
  const metadata = Buffer.alloc(60_002);
  metadata.writeUInt16BE(0xffe1, 0);
  metadata.writeUInt16BE(60_000, 2);
  const whole = Buffer.concat([bytes.subarray(0, 2), metadata, bytes.subarray(2)]);
  expect(imageSizeOf('image/jpeg', whole)).toEqual({
    width: 1,
    height: 1,
  });
});

test.each(Object.keys(files))('does not stumble over a broken %s', (mediaType) => {
  const kind = mediaType as keyof typeof files;
  for (const data of ['', 'AAAA', files[kind].slice(0, 12), 'not base64 at all'])
    expect(imageSizeOf(kind, Buffer.from(data, 'base64'))).toBeUndefined();
});

test.each([
  ['anthropic', 'claude-opus-4-5', 1_000, 1_000, 1_334],
  ['anthropic', 'claude-opus-4-5', 4_000, 3_000, 1_600],
  ['anthropic', 'claude-opus-5-5', 2_000, 1_500, 4_000],
  ['anthropic', 'claude-opus-5-5', 8_000, 6_000, 4_784],
  ['responses', 'gpt-4o', 1_024, 1_024, 765],
  ['chat', 'gpt-4o', 2_048, 4_096, 1_105],
  ['chat', 'gpt-5-mini', 1_024, 1_024, 1_659],
] as const)('charges on %s with %s for %i x %i', (wire, model, width, height, tokens) => {
  expect(mediaTokens(loadedBlock(png(width, height)), wire, model)).toBe(tokens);
});
