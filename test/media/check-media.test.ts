/** What images and files are, by their bytes; and what is refused before it is stored, with the remedy. */
import { checkMedia } from '../../activities/media/check-media';
import { attachmentBytes, textFileBytes } from '../../workflows/core/limits';
import type { MediaPart } from '../../workflows/core/attachments';
import { temporaryStore } from '../support/temporary-store';
import { packedPdfFile, pdfFile, pngFile } from '../support/media-files';

const png = pngFile(640, 480);
const jpeg = Buffer.from(
  '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=',
  'base64',
);

test.each<[string, MediaPart, object]>([
  ['a PNG', { type: 'image', data: png }, { mediaType: 'image/png', width: 640, height: 480 }],
  [
    'its base64',
    { type: 'image', data: png.toString('base64') },
    { mediaType: 'image/png', bytes: png.length },
  ],
  [
    'its base64 in lines, in an address',
    {
      type: 'image',
      data: `data:image/png;base64,${png.toString('base64').replace(/.{76}/g, '$&\r\n')}`,
    },
    { bytes: png.length },
  ],
  ['a JPEG by its usual name', { type: 'image', data: jpeg, mediaType: 'image/jpg' }, { width: 1 }],
  ['a view into a larger buffer', { type: 'image', data: inMiddle(png) }, { bytes: png.length }],
  ['a PDF', { type: 'file', data: pdfFile(3) }, { mediaType: 'application/pdf', pages: 3 }],
  ['a PDF with packed pages', { type: 'file', data: packedPdfFile(7) }, { pages: 7 }],
  ['a text', { type: 'file', data: Buffer.from('Grüße') }, { mediaType: 'text/plain', bytes: 7 }],
  [
    'a text in UTF-16',
    { type: 'file', data: Buffer.from('\ufeffGrüße', 'utf16le') },
    { mediaType: 'text/plain', bytes: 7 },
  ],
  [
    'a table',
    { type: 'file', data: Buffer.from('a,b\n1,2'), mediaType: 'text/csv', name: '/tmp/x/a.csv' },
    { mediaType: 'text/csv', name: 'a.csv' },
  ],
  [
    'a name that would end its place',
    { type: 'image', data: png, name: 'C:\\a"]\n[x].png' },
    { name: 'a____x_.png' },
  ],
])('knows %s', (_what, part, facts) => {
  expect(checkMedia(part)).toMatchObject({ facts });
});

function inMiddle(bytes: Buffer): Uint8Array {
  const larger = Buffer.alloc(bytes.length + 20, 1);
  bytes.copy(larger, 10);
  return new Uint8Array(larger.buffer, larger.byteOffset + 10, bytes.length);
}

test.each<[string, MediaPart, RegExp]>([
  ['no bytes', { type: 'image', data: new Uint8Array() }, /it is empty/],
  ['no base64', { type: 'image', data: 'https://example.com/a.png' }, /no base64.*Give the bytes/],
  ['an SVG', { type: 'image', data: Buffer.from('<svg/>') }, /no PNG, JPEG, GIF or WebP.*Convert/],
  ['half a header', { type: 'image', data: png.subarray(0, 18) }, /damaged or cut/],
  [
    'another type than it says',
    { type: 'image', data: png, mediaType: 'image/jpeg' },
    /says "image\/jpeg", but its bytes are image\/png/,
  ],
  ['an image as a file', { type: 'file', data: png }, /it is an image.*type "image"/],
  ['a PDF as an image', { type: 'image', data: pdfFile(1) }, /no PNG/],
  [
    'an encrypted PDF',
    { type: 'file', data: pdfFile(1, ' /Encrypt 9 0 R') },
    /encrypted.*password/,
  ],
  ['a ZIP', { type: 'file', data: Buffer.from('PK\x03\x04\0\0\0') }, /neither a PDF nor a text/],
  ['an empty text', { type: 'file', data: Buffer.from(' \n') }, /it is empty/],
  [
    'a text that says it is a document',
    { type: 'file', data: Buffer.from('hello'), mediaType: 'application/pdf' },
    /says "application\/pdf", but it holds text/,
  ],
  [
    'a text that is too large',
    { type: 'file', data: Buffer.alloc(textFileBytes + 1, 'a') },
    /has 4194305 bytes; at most 4194304.*where a tool can read it/,
  ],
  [
    'an image that is too large',
    { type: 'image', data: Buffer.concat([png, Buffer.alloc(attachmentBytes)]) },
    /at most 38797312 are allowed. Scale it down/,
  ],
])('refuses %s', (_what, part, problem) => {
  const checked = checkMedia(part);
  expect('problem' in checked && checked.problem).toMatch(problem);
});

test('base64 of 16 MB is read as well as a short one', () => {
  const large = Buffer.concat([png, Buffer.alloc(12_000_000, 7)]);
  for (let again = 0; again < 3; again += 1)
    expect(checkMedia({ type: 'image', data: large.toString('base64') })).toMatchObject({
      facts: { bytes: large.length },
    });
  const broken = `${large.toString('base64')}!`;
  expect(checkMedia({ type: 'image', data: broken })).toHaveProperty('problem');
});

test('a store keeps the bytes once, and says which part it refuses', async () => {
  const stored = await temporaryStore();
  const { store } = stored;
  const first = await store.putMedia({ type: 'image', data: png, name: 'a.png' });
  expect(await store.putMedia({ type: 'image', data: png.toString('base64') })).toMatchObject({
    ref: first.ref,
  });
  expect(await store.getBlob(first.ref)).toEqual(png);
  await expect(
    store.putMedia({ type: 'file', data: Buffer.from([0, 1, 2, 3]), name: 'a.bin' }),
  ).rejects.toThrow('The file "a.bin" cannot be used: it is neither a PDF nor a text');
  await stored.dispose();
});
