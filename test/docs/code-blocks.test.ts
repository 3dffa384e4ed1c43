/** Code in the documents is code of the examples, which the tests run, or of the first steps, which `npm run first-steps` does. */
import { codeBlocks, documents, sourceText } from './documents';

/** Code without its indentation, which a document does not keep. */
function flushLeft(code: string): string {
  return code.trim().replace(/^[ \t]+/gm, '');
}

const blocks = documents().flatMap((document) =>
  codeBlocks(document)
    .filter(
      ({ language, source }) => language === 'ts' && source?.startsWith('first-steps/') !== true,
    )
    .map((block) => ({ file: document.file, ...block })),
);

test('the README shows code', () => {
  expect(blocks.filter(({ file }) => file === 'README.md').length).toBeGreaterThan(0);
});

test.each(blocks)('$file shows what stands in $source', ({ source, code }) => {
  expect(source).toMatch(/^examples\/[\w/-]+\.ts$/);
  expect(flushLeft(sourceText(source ?? ''))).toContain(flushLeft(code));
});
