/** What a vendor can see wrong with an inline image or PDF: its bytes against its declared type. */

const signatures: readonly (readonly [string, RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
];

/** Media types that all three vendors' wires take. */
export const imageMediaTypes: readonly string[] = signatures.map(([mediaType]) => mediaType);

/** True for proper base64 with padding and nothing else. */
export function isBase64(data: string): boolean {
  return (
    data !== '' && data.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(data.replace(/={1,2}$/, ''))
  );
}

/** The media type by the image's first bytes; undefined if they are not an image. */
export function sniffedMediaType(data: string): string | undefined {
  const head = Buffer.from(data.slice(0, 32), 'base64').toString('latin1');
  return signatures.find(([, signature]) => signature.test(head))?.[0];
}

/** Pixels of a PNG's longer side; 0 for any other image, of which nothing is known here. */
export function pngEdge(data: string): number {
  const head = Buffer.from(data.slice(0, 32), 'base64');
  return head.length >= 24 && head.toString('latin1', 1, 4) === 'PNG'
    ? Math.max(head.readUInt32BE(16), head.readUInt32BE(20))
    : 0;
}

/** Pages of a PDF with one object a page; undefined for what is no PDF. */
export function pdfPages(data: string): number | undefined {
  const text = Buffer.from(data, 'base64').toString('latin1');
  if (!text.slice(0, 1_024).includes('%PDF-')) return undefined;
  return text.match(/\/Type ?\/Page(?![a-zA-Z])/g)?.length ?? 1;
}
