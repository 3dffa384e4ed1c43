/** Images and documents as programs write them: whole files that any viewer opens. */
import { deflateSync, crc32 } from 'node:zlib';

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(8 + body.length);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), 4 + body.length);
  return framed;
}

/** A gray PNG; `shade` makes images of one size differ. */
export function pngFile(width: number, height: number, shade = 0): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const rows = Buffer.alloc((width + 1) * height, shade);
  for (let row = 0; row < height; row += 1) rows[row * (width + 1)] = 0;
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** The objects of a PDF with so many pages, each with a line of text. */
function pdfObjects(pages: number): readonly string[] {
  const kids = Array.from({ length: pages }, (_, page) => `${3 + 2 * page} 0 R`);
  const drawn = Array.from({ length: pages }, (_, page) => {
    const text = `BT /F1 24 Tf 72 720 Td (Page ${page + 1}) Tj ET`;
    return [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${4 + 2 * page} 0 R >>`,
      `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    ];
  });
  return [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${pages} >>`,
    ...drawn.flat(),
  ];
}

/** A PDF as its plainest writers make it: each object by itself, and a table of their places. */
export function pdfFile(pages: number, trailer = ''): Buffer {
  let text = '%PDF-1.4\n%\xe2\xe3\xcf\xd3\n';
  const places = pdfObjects(pages).map((object, index) => {
    const place = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const table = text.length;
  text += `xref\n0 ${places.length + 1}\n0000000000 65535 f \n${places.join('')}`;
  text += `trailer\n<< /Size ${places.length + 1} /Root 1 0 R${trailer} >>\nstartxref\n${table}\n%%EOF\n`;
  return Buffer.from(text, 'latin1');
}

/** A PDF of 1.5 as newer writers make it, as far as its pages go: they are in a compressed object stream. */
export function packedPdfFile(pages: number): Buffer {
  const objects = pdfObjects(pages).filter((object) => !object.includes('stream'));
  const packed = deflateSync(Buffer.from(objects.join('\n'), 'latin1'));
  const head = `%PDF-1.5\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /ObjStm /N ${objects.length} /First 0 /Filter /FlateDecode /Length ${packed.length} >>\nstream\r\n`;
  return Buffer.concat([
    Buffer.from(head, 'latin1'),
    packed,
    Buffer.from('\nendstream\nendobj\nstartxref\n0\n%%EOF\n', 'latin1'),
  ]);
}
