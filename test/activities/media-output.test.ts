/** Which values of a tool are images and files, and which are data (ADR 0056). */
import { withMediaApart } from '../../activities/tool-output/media-output';
import { maxMedia, OutputWithMedia } from '../../activities/tools/output-with-media';
import { pdfFile, pngFile } from '../support/media-files';

const photo = pngFile(4, 4);
const image = { type: 'image', data: photo } as const;
const text = { type: 'text', text: 'words' } as const;

function apart(output: unknown): OutputWithMedia {
  const given = withMediaApart(output);
  if (!(given instanceof OutputWithMedia)) throw new Error('it is data');
  return given;
}

test.each<[string, unknown, number]>([
  ['an image', image, 1],
  ['its base64', { type: 'image', data: photo.toString('base64') }, 1],
  ['all that a part may say', { ...image, mediaType: 'image/png', name: 'a.png' }, 1],
  ['a document', { type: 'file', data: pdfFile(1) }, 1],
  ['texts and images', [text, image, image], 2],
])('%s is shown', (_what, output, count) => {
  expect(apart(output).media).toHaveLength(count);
});

test.each<[string, unknown]>([
  ['nothing', null],
  ['a text', 'image'],
  ['another type', { type: 'video', data: photo }],
  ['a part without bytes', { type: 'image' }],
  ['bytes that are none', { type: 'image', data: [1, 2] }],
  ['a media type that is no text', { ...image, mediaType: 7 }],
  ['a name that is no text', { ...image, name: 7 }],
  ['another field', { ...image, alt: 'x' }],
  ['one text part', text],
  ['text parts alone', [text, text]],
  ['no parts', []],
  ['an image beside nothing', [image, null]],
  ['an image beside a word', [image, 'text']],
  ['an image beside a text part with a field', [image, { ...text, id: 1 }]],
  ['an image beside a text part without a text', [image, { type: 'text', words: 'x' }]],
  ['an image beside a part of another type', [image, { type: 'note', text: 'x' }]],
])('%s is data', (_what, output) => {
  expect(withMediaApart(output)).toBe(output);
});

test('each part is told in its place: a text as it is, and what is not shown with the reason', () => {
  const { text: told, media } = apart([
    text,
    { type: 'file', data: Buffer.from('a,b'), name: 'a.csv' },
    { type: 'file', data: Buffer.from('c') },
    { type: 'image', data: Buffer.from('no'), name: 'b.png' },
    { type: 'image', data: '' },
    ...new Array<unknown>(maxMedia + 1).fill({ ...image, name: 'c.png' }),
  ]);
  expect(media).toHaveLength(maxMedia);
  expect(told.split('\n')).toEqual([
    ...['words', '[file a.csv, 3 bytes]', 'a,b', '[file, 1 bytes]', 'c'],
    '[image b.png, not shown: it is no PNG, JPEG, GIF or WebP image. Convert it to one of them.]',
    '[image, not shown: it is empty.]',
    ...new Array<string>(maxMedia).fill(
      `[image c.png, image/png, ${photo.length} bytes: it follows this result]`,
    ),
    `[image c.png, not shown: more than ${maxMedia} in one result]`,
  ]);
});
